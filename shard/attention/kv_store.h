#pragma once

#include <cstdint>

#include "proto/plan/forward_plan.h"
#include "shard/kernels/kernels.h"
#include "shard/runtime/aligned_buffer.h"

namespace scorecast::shard {

static_assert(proto::kKvGranule == kKeyLanes);
static_assert(kTileKeys % kKeyLanes == 0);

/// Keys and values of this rank's K/V heads, after RoPE, as attention reads them. Rank 0 deals out
/// the places (KvPlace): those kept for later passes have room in every layer, those of one pass
/// share one layer's room.
///
/// Keys lie in groups of 16 rows, [group][head_dim][16], so that the kernel multiplies one query
/// element with 16 keys; values lie row by row, [row][value_stride].
class KvStore {
 public:
  KvStore(std::int64_t layers, std::int64_t kv_heads, std::int64_t head_dim, std::int64_t kept_rows,
          std::int64_t pass_rows);

  /// A segment's keys and values in one layer and head. The segment begins at row 0 of both.
  struct View {
    float* keys = nullptr;
    float* values = nullptr;
  };
  View At(std::int64_t layer, std::int64_t kv_head, proto::KvPlace place);

  /// Writes one row of a view; `key` and `value`: [head_dim].
  void Write(View segment, std::int64_t row, const float* key, const float* value) const;

  std::int64_t value_stride() const { return value_stride_; }

  /// Bytes for stores of this size, over all layers.
  static std::int64_t Bytes(std::int64_t layers, std::int64_t kv_heads, std::int64_t head_dim,
                            std::int64_t kept_rows, std::int64_t pass_rows);

 private:
  struct Room {
    std::int64_t rows = 0;
    AlignedBuffer<float> keys;    // [layers or 1][kv_heads][rows / 16][head_dim][16]
    AlignedBuffer<float> values;  // [layers or 1][kv_heads][rows][value_stride]
  };

  std::int64_t kv_heads_;
  std::int64_t head_dim_;
  std::int64_t value_stride_;
  Room kept_;
  Room pass_;
};

}  // namespace scorecast::shard

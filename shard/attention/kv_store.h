#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "proto/plan/forward_plan.h"
#include "shard/kernels/attention_kernels.h"
#include "shard/runtime/aligned_buffer.h"
#include "shard/runtime/thread_pool.h"

namespace scorecast::shard {

static_assert(proto::kKvGranule == kKeyLanes);
static_assert(kTileKeys % kKeyLanes == 0);
// A page is one tile of keys, so that attention reduces a segment in pages over the same tiles as a
// whole segment.
static_assert(proto::kKvPageRows == kTileKeys);

/// Keys (after RoPE) and values of this rank's K/V heads in the layout that attention reads:
/// float32 or bfloat16, depending on `kernels`. Rank 0 assigns the places (KvPlace). Places kept
/// for later passes have storage in every layer; places of a single pass share one layer's storage.
/// Layers with numbers beyond those for which there is storage take that of earlier ones in turn:
/// of a bidirectional text that is computed in steps (proto::PlanStep), only two layers are needed
/// at a time.
///
/// Keys lie in groups of 16 rows, so that the kernel multiplies one query element (or pair) with
/// those of 16 keys; values lie row by row (or pair by pair of rows). See AttentionTile.
class KvStore {
 public:
  KvStore(const AttentionKernels& kernels, std::int64_t layers, std::int64_t kv_heads,
          std::int64_t head_dim, std::int64_t kept_rows, std::int64_t pass_rows);

  /// Keys and values of a segment in one layer and head, from the segment's row 0 on.
  struct View {
    std::byte* keys = nullptr;
    std::byte* values = nullptr;
  };
  View At(std::int64_t layer, std::int64_t kv_head, proto::KvPlace place);

  /// The part of a view that begins at row `row`, a multiple of 16.
  View From(View segment, std::int64_t row) const;

  /// Write one row of a view, [head_dim]. `is_last` means that the row is the last of its segment
  /// so far. Then the value after it is set to zero, because the kernel may read it with the weight
  /// 0, and it must be finite.
  void WriteKey(View segment, std::int64_t row, const float* key) const;
  void WriteValue(View segment, std::int64_t row, const float* value, bool is_last) const;

  /// Carries out a plan's copies between pages, in every layer and head. Copies whole granules of
  /// 16 rows.
  void Copy(std::span<const proto::KvCopy> copies, ThreadPool& pool);

  /// Touches the first `rows` places for K/V of one pass, in every head.
  void TouchPass(std::int64_t rows, ThreadPool& pool);

  const AttentionKernels& kernels() const { return kernels_; }
  std::int64_t value_stride() const { return value_stride_; }

  /// Bytes of a store of this size, over all layers.
  static std::int64_t Bytes(std::int64_t element_size, std::int64_t layers, std::int64_t kv_heads,
                            std::int64_t head_dim, std::int64_t kept_rows, std::int64_t pass_rows);

 private:
  struct Room {
    std::int64_t rows = 0;
    AlignedBuffer<std::byte> keys;    // [layers or 1][kv_heads][rows][head_dim]
    AlignedBuffer<std::byte> values;  // [layers or 1][kv_heads][rows][value_stride]
  };

  const AttentionKernels& kernels_;
  std::int64_t layers_;
  std::int64_t kv_heads_;
  std::int64_t head_dim_;
  std::int64_t value_stride_;
  AlignedBuffer<float> zeros_;  // [head_dim]
  Room kept_;
  Room pass_;
};

}  // namespace scorecast::shard

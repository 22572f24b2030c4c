#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "proto/model/partition.h"
#include "proto/plan/forward_plan.h"
#include "shard/attention/kv_store.h"
#include "shard/attention/row_map.h"
#include "shard/linear/activations.h"
#include "shard/runtime/aligned_buffer.h"
#include "shard/runtime/thread_pool.h"

namespace scorecast::shard {

/// Masked attention over this rank's query heads. The mask is never a matrix: what a row sees
/// follows from its segment (proto::Sees). Memory does not depend on how many keys there are.
///
/// A row reduces over its keys in tiles of kTileKeys counted from each segment's first row, segment
/// by segment in the plan's order, so its bits depend on neither the other rows nor on which of its
/// keys were computed in this pass. The rows of a tile and all query heads of a K/V head are one
/// matrix for the kernel.
class SegmentAttention {
 public:
  /// `heads` and `kv_heads` are this rank's; a query head h uses K/V head h / group_size.
  SegmentAttention(proto::Range heads, proto::Range kv_heads, std::int64_t group_size,
                   std::int64_t head_dim, int threads);

  /// Reads rotated queries [rows, heads · head_dim] of the map's rows, writes [rows, heads ·
  /// head_dim]. Every key that a row sees is in `store` already.
  void Forward(const proto::ForwardPlan& plan, const RowMap& map, std::int64_t layer,
               KvStore& store, Rows<const float> queries, Rows<float> output, ThreadPool& pool);

 private:
  /// What one thread works on: the query rows of a tile, one for each row and head.
  struct Scratch {
    AlignedBuffer<std::byte> query;  // [query rows][head_dim], scaled
    AlignedBuffer<float> output;     // [query rows][value_stride]
    AlignedBuffer<float> state;      // [query rows][kRowState]
    std::vector<int> end;            // [query rows]: keys of the present segment that it sees
    std::vector<int> visible;        // [query rows]: of these, in the present tile of keys
  };
  /// This rank's query heads of a K/V head, the first one counted from this rank's first.
  struct HeadGroup {
    std::int64_t first = 0;
    int size = 0;
  };

  HeadGroup GroupOf(std::int64_t kv_head) const;
  void AttendTile(const proto::ForwardPlan& plan, const RowMap& map, const RowTile& tile,
                  std::int64_t layer, std::int64_t kv_head, KvStore& store,
                  Rows<const float> queries, Rows<float> output, Scratch& scratch) const;
  /// Query rows [first, end) against the first scratch.end[r] keys of a segment.
  void AttendSegment(const KvStore& store, KvStore::View segment, int first, int end,
                     Scratch& scratch) const;

  proto::Range heads_;
  proto::Range kv_heads_;
  std::int64_t group_size_;
  std::int64_t head_dim_;
  std::vector<Scratch> scratch_;  // One for each thread.
};

}  // namespace scorecast::shard

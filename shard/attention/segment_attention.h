#pragma once

#include <cstdint>
#include <vector>

#include "proto/model/partition.h"
#include "proto/plan/forward_plan.h"
#include "shard/attention/kv_store.h"
#include "shard/attention/row_map.h"
#include "shard/kernels/kernels.h"
#include "shard/linear/gemm_backend.h"
#include "shard/runtime/thread_pool.h"

namespace scorecast::shard {

/// Masked attention over this rank's query heads. The mask is never a matrix: what a row sees
/// follows from its segment (proto::Sees). Memory does not depend on how many keys there are.
///
/// A row reduces over its keys in tiles of kTileKeys counted from each segment's first row, segment
/// by segment in the plan's order, so its bits depend on neither the other rows nor on which of its
/// keys were computed in this pass.
class SegmentAttention {
 public:
  /// `heads` and `kv_heads` are this rank's; a query head h uses K/V head h / group_size.
  SegmentAttention(const Kernels& kernels, proto::Range heads, proto::Range kv_heads,
                   std::int64_t group_size, std::int64_t head_dim, int threads);

  /// Reads rotated queries [rows, heads · head_dim], writes [rows, heads · head_dim].
  /// Every key that a computed row sees is in `store` already.
  void Forward(const proto::ForwardPlan& plan, const RowMap& map, std::int64_t layer,
               KvStore& store, Rows<const float> queries, Rows<float> output, ThreadPool& pool);

 private:
  /// What one thread works on: the query rows of a tile, one for each row and head.
  struct Scratch {
    std::vector<float> query;   // [query rows][head_dim], scaled
    std::vector<float> output;  // [query rows][value_stride]
    std::vector<float> state;   // [query rows][2]
    std::vector<int> visible;   // [query rows], of the present tile of keys
  };

  void AttendTile(const proto::ForwardPlan& plan, const RowMap& map, const RowTile& tile,
                  std::int64_t layer, std::int64_t kv_head, KvStore& store,
                  Rows<const float> queries, Rows<float> output, Scratch& scratch) const;
  void AttendKeys(const KvStore::View& segment, std::int64_t first_key, std::int64_t value_stride,
                  int query_rows, Scratch& scratch) const;

  const Kernels& kernels_;
  proto::Range heads_;
  proto::Range kv_heads_;
  std::int64_t group_size_;
  std::int64_t head_dim_;
  std::vector<Scratch> scratch_;  // One for each thread.
};

}  // namespace scorecast::shard

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
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
/// follows from its segment (proto::Sees, proto::ChainBegin). Memory does not depend on how many
/// keys there are.
///
/// A row reduces over its keys in tiles of kTileKeys counted from each segment's first row, segment
/// by segment in the plan's order, so its bits depend on neither the other rows nor on which of its
/// keys were computed in this pass. The rows of a tile and all query heads of a K/V head are one
/// matrix for the kernel.
///
/// Where a sequence weighs blocks apart (proto::BlockWeighting), a suffix row reduces twice: over
/// the keys of blocks, with its query divided by T, and over the others. The two results are merged
/// by their weights.
class SegmentAttention {
 public:
  /// `heads` and `kv_heads` are this rank's; a query head h uses K/V head h / group_size.
  SegmentAttention(proto::Range heads, proto::Range kv_heads, std::int64_t group_size,
                   std::int64_t head_dim, int threads);

  /// Reads rotated queries [rows, heads · head_dim] of the map's rows, writes [rows, heads ·
  /// head_dim]. Every key that a row sees is in `store` already.
  void Forward(const proto::ForwardPlan& plan, const RowMap& map, std::int64_t layer,
               KvStore& store, Rows<const float> queries, Rows<float> output, ThreadPool& pool);

  /// Touches what the threads work on.
  void Touch(ThreadPool& pool);

 private:
  /// Query rows of a tile, one for each row and head, and what they have of their keys so far.
  struct Reduction {
    AlignedBuffer<std::byte> query;  // [query rows][head_dim], scaled
    AlignedBuffer<float> output;     // [query rows][value_stride]
    AlignedBuffer<float> state;      // [query rows][kRowState]
  };
  /// What one thread works on.
  struct Scratch {
    Reduction keys;            // All keys, or those that are not of blocks weighed apart.
    Reduction block_keys;      // The keys of blocks weighed apart.
    std::vector<int> end;      // [query rows]: keys of the present segment that it sees
    std::vector<int> visible;  // [query rows]: of these, in the present tile of keys
  };
  /// This rank's query heads of a K/V head, the first one counted from this rank's first.
  struct HeadGroup {
    std::int64_t first = 0;
    int size = 0;
  };

  /// A tile's rows and what they are attended with.
  struct TileRows {
    const proto::PlanSequence& sequence;
    std::span<const RowPlace> places;  // [rows]
    HeadGroup group;
    std::int64_t kv_head = 0;
    std::int32_t first_row = 0;       // Among the map's rows.
    std::int32_t first_weighted = 0;  // Rows from here on weigh blocks apart.

    std::int32_t rows() const { return static_cast<std::int32_t>(places.size()); }
  };

  HeadGroup GroupOf(std::int64_t kv_head) const;
  TileRows RowsOf(const proto::ForwardPlan& plan, const RowMap& map, const RowTile& tile,
                  std::int64_t kv_head) const;
  void AttendTile(const TileRows& tile, std::int64_t layer, KvStore& store,
                  Rows<const float> queries, Rows<float> output, Scratch& scratch) const;
  /// Rows [first_row, tile.rows()) with nothing of their keys yet.
  void Begin(const TileRows& tile, std::int32_t first_row, float scale, const KvStore& store,
             Rows<const float> queries, Reduction& reduction) const;
  /// All segments for the rows that see them: with `weighted` the blocks that are weighed apart,
  /// else all others.
  void AttendSegments(const TileRows& tile, bool weighted, std::int64_t layer, KvStore& store,
                      Scratch& scratch, Reduction& reduction) const;
  /// Query rows [first, end) against the first scratch.end[r] keys of a segment.
  void AttendSegment(const KvStore& store, KvStore::View segment, int first, int end,
                     Scratch& scratch, Reduction& reduction) const;
  /// What a query row's reduction comes to, [head_dim].
  void Finish(const Reduction& reduction, int query_row, std::int64_t value_stride,
              float* out) const;
  /// The same where its keys of blocks are weighed apart.
  void FinishWeighted(const Scratch& scratch, const proto::BlockWeighting& weighting, int query_row,
                      std::int64_t value_stride, float* out) const;

  proto::Range heads_;
  proto::Range kv_heads_;
  std::int64_t group_size_;
  std::int64_t head_dim_;
  std::vector<Scratch> scratch_;  // One for each thread.
};

}  // namespace scorecast::shard

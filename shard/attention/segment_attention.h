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

/// Masked attention over this rank's query heads. No mask matrix exists: what a row sees follows
/// from its segment (proto::Sees, proto::Segment::continues). Memory does not depend on the number
/// of keys.
///
/// A row reduces over its keys in tiles of kTileKeys, counted from each segment's first row,
/// segment by segment in the plan's order. Its bits therefore depend neither on the other rows nor
/// on which of its keys were computed in this pass. The rows of a tile and all query heads of a K/V
/// head form one matrix for the kernel.
///
/// If a sequence weighs blocks separately (proto::BlockWeighting), a suffix row reduces twice: over
/// the keys of blocks, with its query divided by T, and over all other keys. The two results are
/// merged by their weights.
class SegmentAttention {
 public:
  /// `heads` and `kv_heads` are those of this rank. Query head h uses K/V head h / group_size.
  SegmentAttention(proto::Range heads, proto::Range kv_heads, std::int64_t group_size,
                   std::int64_t head_dim, int threads);

  /// Reads rotated queries [rows, heads · head_dim] of the map's rows and writes [rows, heads ·
  /// head_dim]. All keys that the rows see must already be in `store`.
  void Forward(const proto::ForwardPlan& plan, const RowMap& map, std::int64_t layer,
               KvStore& store, Rows<const float> queries, Rows<float> output, ThreadPool& pool);

 private:
  /// Query rows of a tile, one for each row and head, and their sums so far.
  struct Reduction {
    AlignedBuffer<std::byte> query;  // [query rows][head_dim], scaled
    AlignedBuffer<float> output;     // [query rows][value_stride]
    AlignedBuffer<float> state;      // [query rows][kRowState]
  };
  /// One thread's working memory.
  struct Scratch {
    Reduction keys;            // Over all keys, or those outside of separately weighed blocks.
    Reduction block_keys;      // Over the keys of separately weighed blocks.
    std::vector<int> end;      // [query rows]: visible keys of the current segment
    std::vector<int> visible;  // [query rows]: visible keys of the current tile of keys
  };
  /// This rank's query heads of one K/V head. `first` counts from this rank's first query head.
  struct HeadGroup {
    std::int64_t first = 0;
    int size = 0;
  };

  /// A tile's rows, and the heads with which they are attended.
  struct TileRows {
    const proto::PlanSequence& sequence;
    std::span<const RowPlace> places;  // [rows]
    HeadGroup group;
    std::int64_t kv_head = 0;
    std::int32_t first_row = 0;       // Index into the map's rows.
    std::int32_t first_weighted = 0;  // Rows of the tile from this one on weigh blocks separately.

    std::int32_t rows() const { return static_cast<std::int32_t>(places.size()); }
  };

  HeadGroup GroupOf(std::int64_t kv_head) const;
  TileRows RowsOf(const proto::ForwardPlan& plan, const RowMap& map, const RowTile& tile,
                  std::int64_t kv_head) const;
  void AttendTile(const TileRows& tile, std::int64_t layer, KvStore& store,
                  Rows<const float> queries, Rows<float> output, Scratch& scratch) const;
  /// Scales the queries of rows [first_row, tile.rows()) and clears their sums.
  void Begin(const TileRows& tile, std::int32_t first_row, float scale, const KvStore& store,
             Rows<const float> queries, Reduction& reduction) const;
  /// Attends the segments that the tile's rows see: if `weighted`, the blocks that are weighed
  /// separately, else all others.
  void AttendSegments(const TileRows& tile, bool weighted, std::int64_t layer, KvStore& store,
                      Scratch& scratch, Reduction& reduction) const;
  /// Attends query rows [first, end); row r sees the first scratch.end[r] keys of the segment.
  void AttendSegment(const KvStore& store, KvStore::View segment, int first, int end,
                     Scratch& scratch, Reduction& reduction) const;
  /// Writes the result of a query row, [head_dim].
  void Finish(const Reduction& reduction, int query_row, std::int64_t value_stride,
              float* out) const;
  /// The same for a row that weighs blocks separately.
  void FinishWeighted(const Scratch& scratch, const proto::BlockWeighting& weighting, int query_row,
                      std::int64_t value_stride, float* out) const;

  proto::Range heads_;
  proto::Range kv_heads_;
  std::int64_t group_size_;
  std::int64_t head_dim_;
  std::vector<Scratch> scratch_;  // [threads]
};

}  // namespace scorecast::shard

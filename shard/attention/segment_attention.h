#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "proto/model/model_config.h"
#include "proto/model/partition.h"
#include "proto/plan/forward_plan.h"
#include "shard/attention/kv_store.h"
#include "shard/attention/row_map.h"
#include "shard/linear/activations.h"
#include "shard/runtime/aligned_buffer.h"
#include "shard/runtime/thread_pool.h"

namespace scorecast::shard {

/// Masked attention over this rank's query heads. The mask is never a matrix: the keys that a row
/// sees follow from its segment (proto::Sees, proto::Segment::continues) and from the layer's
/// sliding window. Memory does not depend on the number of keys.
///
/// A row reduces over its keys in tiles of kTileKeys counted from each segment's first row, segment
/// by segment in the plan's order. A window masks keys of a tile but does not move tiles. A row's
/// bits therefore depend neither on the other rows nor on which of its keys were computed in this
/// pass. The rows of a tile and all query heads of a K/V head are one matrix for the kernel.
///
/// If a sequence weighs blocks separately (proto::BlockWeighting), a suffix row reduces twice: over
/// the keys of blocks, with scores divided by T, and over the others. The two results are merged by
/// their weights. Scores are soft-capped, if the model does that, before they are divided by T.
class SegmentAttention {
 public:
  SegmentAttention(const proto::ModelConfig& config, const proto::Partition& partition,
                   int threads);

  /// Reads rotated queries [rows, heads · head_dim] of the map's rows, writes [rows, heads ·
  /// head_dim]. Every key that a row sees is in `store` already. `window` is the layer's, see
  /// LayerConfig.
  void Forward(const proto::ForwardPlan& plan, const RowMap& map, std::int64_t layer,
               std::optional<std::int64_t> window, KvStore& store, Rows<const float> queries,
               Rows<float> output, ThreadPool& pool);

  /// Touches the threads' working memory.
  void Touch(ThreadPool& pool);

 private:
  /// Query rows of a tile, one for each row and head, and their sums so far.
  struct Reduction {
    AlignedBuffer<std::byte> query;  // [query rows][head_dim], scaled
    AlignedBuffer<float> output;     // [query rows][value_stride]
    AlignedBuffer<float> state;      // [query rows][kRowState]
    float softcap = 0;               // See AttentionTile.
  };
  /// One thread's working memory.
  struct Scratch {
    Reduction keys;        // All keys, or those that are not of blocks weighed separately.
    Reduction block_keys;  // The keys of blocks weighed separately.
    // [query rows]: the row sees keys [begin, end) of the current segment, and [hidden, visible) of
    // the current tile. begin and hidden are used only with a window.
    std::vector<int> begin;
    std::vector<int> end;
    std::vector<int> hidden;
    std::vector<int> visible;
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
    std::optional<std::int64_t> window;
    HeadGroup group;
    std::int64_t kv_head = 0;
    std::int32_t first_row = 0;       // Index into the map's rows.
    std::int32_t first_weighted = 0;  // Rows of the tile from this one on weigh blocks separately.

    std::int32_t rows() const { return static_cast<std::int32_t>(places.size()); }
  };

  HeadGroup GroupOf(std::int64_t kv_head) const;
  TileRows RowsOf(const proto::ForwardPlan& plan, const RowMap& map, const RowTile& tile,
                  std::optional<std::int64_t> window, std::int64_t kv_head) const;
  void AttendTile(const TileRows& tile, std::int64_t layer, KvStore& store,
                  Rows<const float> queries, Rows<float> output, Scratch& scratch) const;
  /// Scales the queries of rows [first_row, tile.rows()) and clears their sums. `temperature`
  /// divides the scores.
  void Begin(const TileRows& tile, std::int32_t first_row, float temperature, const KvStore& store,
             Rows<const float> queries, Reduction& reduction) const;
  /// Attends the segments that the tile's rows see: if `weighted`, the blocks that are weighed
  /// separately, else all others.
  void AttendSegments(const TileRows& tile, bool weighted, std::int64_t layer, KvStore& store,
                      Scratch& scratch, Reduction& reduction) const;
  /// Reduces query rows [first, end) over keys [scratch.begin[r], scratch.end[r]) of a segment.
  void AttendSegment(const KvStore& store, KvStore::View segment, bool has_window, int first,
                     int end, Scratch& scratch, Reduction& reduction) const;
  /// Writes the result of a query row's reduction, [head_dim].
  void Finish(const Reduction& reduction, int query_row, std::int64_t value_stride,
              float* out) const;
  /// Like Finish, for a row that weighs keys of blocks separately.
  void FinishWeighted(const Scratch& scratch, const proto::BlockWeighting& weighting, int query_row,
                      std::int64_t value_stride, float* out) const;

  proto::Range heads_;
  proto::Range kv_heads_;
  std::int64_t group_size_;  // Query head h uses K/V head h / group_size_.
  std::int64_t head_dim_;
  float scale_;                   // Of scores.
  float softcap_;                 // Of scores; 0 if they have none.
  std::vector<Scratch> scratch_;  // [threads]
};

}  // namespace scorecast::shard

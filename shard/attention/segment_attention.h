#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "proto/model/model_config.h"
#include "proto/model/partition.h"
#include "proto/plan/forward_plan.h"
#include "shard/attention/key_spans.h"
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
/// by segment in the plan's order. Every kSpanTiles tiles of a chain of segments are a span (see
/// FindSpans): a span is reduced from a fresh state, and the spans' results are folded in order. A
/// window masks keys of a tile but moves neither tiles nor spans. A row's bits therefore depend
/// neither on the other rows nor on which of its keys were computed in this pass, nor on which
/// threads reduce its spans. The rows of a tile and all query heads of a K/V head are one matrix
/// for the kernel.
///
/// If a sequence weighs blocks separately (proto::BlockWeighting), a suffix row reduces twice: over
/// the keys of blocks, with scores divided by T, and over the others. The two results are merged by
/// their weights. If the model soft-caps scores, they are divided by T after that.
class SegmentAttention {
 public:
  SegmentAttention(const proto::ModelConfig& config, const proto::Partition& partition,
                   int threads);

  /// Reads rotated queries [rows, heads · head_dim] of the map's rows, writes [rows, heads ·
  /// head_dim]. All keys that the rows see must already be in `store`. `window` is the layer's
  /// sliding window: see LayerConfig.
  void Forward(const proto::ForwardPlan& plan, const RowMap& map, std::int64_t layer,
               std::optional<std::int64_t> window, KvStore& store, Rows<const float> queries,
               Rows<float> output, ThreadPool& pool);

  /// Touches the threads' working memory.
  void Touch(ThreadPool& pool);

 private:
  /// This rank's query heads of one K/V head. `first` counts from this rank's first query head.
  struct HeadGroup {
    std::int64_t first = 0;
    int size = 0;
  };

  /// A tile's rows and the query heads with which they attend: one query row for each row and head.
  struct TileRows : AttendedRows {
    HeadGroup group;
    std::int64_t kv_head = 0;
    std::int32_t first_row = 0;  // Index into the map's rows.

    bool has_weighted() const { return first_weighted < rows(); }
    int query_rows() const { return rows() * group.size; }
  };

  /// What a pass attends to in one layer.
  struct LayerPass {
    std::int64_t layer = 0;
    KvStore& store;
    Rows<const float> queries;
    Rows<float> output;
  };

  /// One thread's working memory.
  struct Scratch {
    AlignedBuffer<std::byte> query;  // [query rows][head_dim], scaled
    AlignedBuffer<float> sums;       // Sums of three reductions; see SumsAt.
    std::vector<KeySpan> spans;
    // [query rows]: the row sees keys [begin, end) of the current segment, and [hidden, visible) of
    // the current tile. begin and hidden are used only with a window.
    std::vector<int> begin;
    std::vector<int> end;
    std::vector<int> hidden;
    std::vector<int> visible;
  };

  /// A tile with one K/V head, if spans are distributed over the threads.
  struct SpannedTile {
    std::int32_t row_tile = 0;
    std::int64_t kv_head = 0;
    std::size_t first_span = 0;  // Spans [first_span, end_span) of spans_.
    std::size_t end_span = 0;
    std::int64_t first_sums = 0;  // Place of its sums in one set of sums, in query rows.
  };

  HeadGroup GroupOf(std::int64_t kv_head) const;
  TileRows RowsOf(const proto::ForwardPlan& plan, const RowMap& map, std::int32_t row_tile,
                  std::optional<std::int64_t> window, std::int64_t kv_head) const;
  static void FindAllSpans(const TileRows& tile, std::vector<KeySpan>& spans);

  /// Lists the tiles and their spans, and returns whether distributing spans keeps the threads
  /// busier than distributing tiles.
  bool ShouldDistributeSpans(const proto::ForwardPlan& plan, const RowMap& map,
                             std::optional<std::int64_t> window, int threads);
  void ForwardInSpans(const proto::ForwardPlan& plan, const RowMap& map,
                      std::optional<std::int64_t> window, const LayerPass& pass, ThreadPool& pool);
  void AttendTile(const TileRows& tile, const LayerPass& pass, Scratch& scratch) const;

  /// A view of the sums of `query_rows` rows at `memory`.
  AttentionSums SumsAt(float* memory, int query_rows) const;
  /// The part of `sums` for query rows [begin, end).
  static AttentionSums RowsOfSums(const AttentionSums& sums, int begin, int end);
  static void Clear(const AttentionSums& sums);

  /// Scales the queries of rows [first_row, end_row).
  void StoreQueries(const TileRows& tile, std::int32_t first_row, std::int32_t end_row,
                    bool weighted, const LayerPass& pass, Scratch& scratch) const;
  /// Adds a span to the sums of the tile's query rows. Only rows of the span change. `next` is the
  /// first tile of the span that follows, or null.
  void ReduceSpan(const TileRows& tile, const KeySpan& span, KvStore::View next,
                  const LayerPass& pass, Scratch& scratch, const AttentionSums& sums) const;
  /// Adds keys [scratch.begin[r], scratch.end[r]) of a segment to the sums of query rows r in
  /// [first, end). `tile` has the arguments that are the same for all tiles.
  void ReduceKeys(KvStore::View segment, KvStore::View next, int first, int end, bool has_window,
                  const LayerPass& pass, Scratch& scratch, AttentionTile& tile,
                  const AttentionSums& sums) const;
  /// The first tile of a span's keys.
  static KvStore::View FirstTile(const TileRows& tile, const KeySpan& span, const LayerPass& pass);

  /// Writes the results of all query rows.
  void Finish(const TileRows& tile, const AttentionSums& sums, const AttentionSums& block_sums,
              const LayerPass& pass) const;
  /// Writes the result of a query row's reduction, [head_dim].
  void FinishRow(const AttentionSums& sums, int query_row, float* out) const;
  /// Like FinishRow, for a row that weighs keys of blocks separately.
  void FinishWeighted(const AttentionSums& sums, const AttentionSums& block_sums,
                      const proto::BlockWeighting& weighting, int query_row, float* out) const;

  proto::Range heads_;
  proto::Range kv_heads_;
  std::int64_t group_size_;  // Query head h uses K/V head h / group_size_.
  std::int64_t head_dim_;
  bool bidirectional_;
  std::int64_t value_stride_;
  float scale_;                   // Factor of scores.
  float softcap_;                 // Soft-cap of scores; 0 if there is none.
  std::vector<Scratch> scratch_;  // [threads]

  // Used by ForwardInSpans.
  std::vector<SpannedTile> spanned_tiles_;
  std::vector<KeySpan> spans_;
  AlignedBuffer<float> span_sums_;
};

}  // namespace scorecast::shard

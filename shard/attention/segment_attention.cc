#include "shard/attention/segment_attention.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "shard/runtime/touch_pages.h"

namespace scorecast::shard {
namespace {

// If there are fewer tiles than this for each thread, spans may be distributed instead.
constexpr int kTilesPerThread = 2;
// Number of sets of sums that span_sums_ can hold if each thread has that many tiles of the largest
// size: two sets for the totals, and two for spans.
constexpr int kSumSets = 4;

float SumOfState(const float* state) { return std::accumulate(state + 1, state + kRowState, 0.0F); }

}  // namespace

SegmentAttention::SegmentAttention(const proto::ModelConfig& config,
                                   const proto::Partition& partition, int threads)
    : heads_(partition.heads),
      kv_heads_(partition.kv_heads),
      group_size_(config.num_query_groups()),
      head_dim_(config.head_dim),
      bidirectional_(config.bidirectional),
      value_stride_((config.head_dim + kKeyLanes - 1) / kKeyLanes * kKeyLanes),
      scale_(config.query_scale != 0 ? static_cast<float>(config.query_scale)
                                     : 1.0F / std::sqrt(static_cast<float>(config.head_dim))),
      softcap_(static_cast<float>(config.attn_logit_softcapping.value_or(0))),
      scratch_(static_cast<std::size_t>(threads)) {
  const auto rows = static_cast<std::size_t>(RowMap::kTileRowLimit * group_size_);
  const auto row_sums = static_cast<std::size_t>(value_stride_ + kRowState);
  for (Scratch& scratch : scratch_) {
    scratch.query =
        AlignedBuffer<std::byte>(rows * static_cast<std::size_t>(head_dim_) * sizeof(float));
    scratch.sums = AlignedBuffer<float>(3 * rows * row_sums);
    for (std::vector<int>* keys :
         {&scratch.begin, &scratch.end, &scratch.hidden, &scratch.visible}) {
      keys->resize(rows);
    }
  }
  if (threads > 1) {
    span_sums_ =
        AlignedBuffer<float>(kSumSets * kTilesPerThread * scratch_.size() * rows * row_sums);
  }
}

void SegmentAttention::Touch(ThreadPool& pool) {
  for (Scratch& scratch : scratch_) {
    TouchPages(scratch.query.span(), pool);
    TouchPages(std::as_writable_bytes(scratch.sums.span()), pool);
  }
  TouchPages(std::as_writable_bytes(span_sums_.span()), pool);
}

void SegmentAttention::Forward(const proto::ForwardPlan& plan, const RowMap& map,
                               std::int64_t layer, std::optional<std::int64_t> window,
                               KvStore& store, Rows<const float> queries, Rows<float> output,
                               ThreadPool& pool) {
  const LayerPass pass = {layer, store, queries, output};
  if (ShouldDistributeSpans(plan, map, window, pool.threads())) {
    ForwardInSpans(plan, map, window, pass, pool);
    return;
  }
  const auto tiles = static_cast<std::int64_t>(map.tiles().size());
  pool.ParallelFor(tiles * kv_heads_.size(), [&](std::int64_t task, int thread) {
    const auto row_tile = static_cast<std::int32_t>(task % tiles);
    AttendTile(RowsOf(plan, map, row_tile, window, task / tiles), pass,
               scratch_[static_cast<std::size_t>(thread)]);
  });
}

SegmentAttention::HeadGroup SegmentAttention::GroupOf(std::int64_t kv_head) const {
  // Neighbour ranks may own other query heads of the same group.
  const std::int64_t group = (kv_heads_.begin + kv_head) * group_size_;
  const std::int64_t first = std::max(group, heads_.begin) - heads_.begin;
  const std::int64_t end = std::min(group + group_size_, heads_.end) - heads_.begin;
  return {first, static_cast<int>(end - first)};
}

SegmentAttention::TileRows SegmentAttention::RowsOf(const proto::ForwardPlan& plan,
                                                    const RowMap& map, std::int32_t row_tile,
                                                    std::optional<std::int64_t> window,
                                                    std::int64_t kv_head) const {
  const RowTile& tile = map.tiles()[static_cast<std::size_t>(row_tile)];
  const auto places = map.rows().subspan(static_cast<std::size_t>(tile.first_row),
                                         static_cast<std::size_t>(tile.rows));
  const proto::PlanSequence& sequence =
      plan.sequences[static_cast<std::size_t>(places.front().sequence)];
  std::int32_t first_weighted = tile.rows;
  if (!sequence.block_weighting.is_plain()) {
    const auto is_suffix = [&](const RowPlace& row) {
      return sequence.segments[static_cast<std::size_t>(row.segment)].kind ==
             proto::SegmentKind::kSuffix;
    };
    // Suffixes come last in a sequence.
    first_weighted =
        static_cast<std::int32_t>(std::ranges::find_if(places, is_suffix) - places.begin());
  }
  return {{sequence, places, window, bidirectional_, first_weighted},
          GroupOf(kv_head),
          kv_head,
          tile.first_row};
}

void SegmentAttention::FindAllSpans(const TileRows& tile, std::vector<KeySpan>& spans) {
  FindSpans(tile, /*weighted=*/false, spans);
  if (tile.has_weighted()) {
    FindSpans(tile, /*weighted=*/true, spans);
  }
}

bool SegmentAttention::ShouldDistributeSpans(const proto::ForwardPlan& plan, const RowMap& map,
                                             std::optional<std::int64_t> window, int threads) {
  const auto row_tiles = static_cast<std::int32_t>(map.tiles().size());
  const std::int64_t tiles = row_tiles * kv_heads_.size();
  if (threads == 1 || tiles == 0 || tiles > std::int64_t{kTilesPerThread} * threads) {
    return false;
  }
  spanned_tiles_.clear();
  spans_.clear();
  std::int64_t sums = 0;
  // Work in rows times tiles of keys: in all, of the largest tile of rows, and of the largest span.
  std::int64_t work = 0;
  std::int64_t most = 0;
  std::int64_t most_of_span = 0;
  for (std::int32_t row_tile = 0; row_tile < row_tiles; ++row_tile) {
    const std::size_t first = spans_.size();
    FindAllSpans(RowsOf(plan, map, row_tile, window, 0), spans_);
    std::int64_t tile_work = 0;
    for (std::size_t i = first; i < spans_.size(); ++i) {
      const std::int64_t span_work =
          std::int64_t{spans_[i].tiles} * (spans_[i].end_row - spans_[i].first_row);
      tile_work += span_work;
      most_of_span = std::max(most_of_span, span_work);
    }
    work += tile_work * kv_heads_.size();
    most = std::max(most, tile_work);
    for (std::int64_t kv_head = 0; kv_head < kv_heads_.size(); ++kv_head) {
      spanned_tiles_.push_back({row_tile, kv_head, first, spans_.size(), sums});
      sums += RowsOf(plan, map, row_tile, window, kv_head).query_rows();
    }
  }
  // Whole tiles would take several rounds of the threads, each as long as the largest tile. Spans
  // are used if they save a fifth of that time, and more than it takes to wake the threads again.
  const std::int64_t in_tiles = (tiles + threads - 1) / threads * most;
  const std::int64_t in_spans = std::max(most_of_span, (work + threads - 1) / threads);
  const std::int64_t saved = in_tiles - in_spans;
  return 5 * saved >= in_tiles && saved >= kSpanTiles;
}

void SegmentAttention::ForwardInSpans(const proto::ForwardPlan& plan, const RowMap& map,
                                      std::optional<std::int64_t> window, const LayerPass& pass,
                                      ThreadPool& pool) {
  const auto tiles = static_cast<std::int64_t>(spanned_tiles_.size());
  std::int64_t set_rows = 0;  // Query rows of all tiles.
  std::int64_t most_spans = 0;
  for (const SpannedTile& spanned : spanned_tiles_) {
    const TileRows tile = RowsOf(plan, map, spanned.row_tile, window, spanned.kv_head);
    set_rows = spanned.first_sums + tile.query_rows();
    most_spans =
        std::max(most_spans, static_cast<std::int64_t>(spanned.end_span - spanned.first_span));
  }
  const std::int64_t set_size = set_rows * (value_stride_ + kRowState);
  // Sets 0 and 1 are the totals of the two reductions: without the blocks weighed separately, and
  // of those blocks. The spans computed at the same time have the sets after them.
  const std::int64_t spans_at_once =
      static_cast<std::int64_t>(span_sums_.span().size()) / set_size - 2;
  const auto sums_of = [&](const SpannedTile& spanned, const TileRows& tile, std::int64_t set) {
    return SumsAt(
        span_sums_.data() + set * set_size + spanned.first_sums * (value_stride_ + kRowState),
        tile.query_rows());
  };
  for (std::int64_t first = 0; first < most_spans; first += spans_at_once) {
    const std::int64_t count = std::min(spans_at_once, most_spans - first);
    pool.ParallelFor(tiles * count, [&](std::int64_t task, int thread) {
      const SpannedTile& spanned = spanned_tiles_[static_cast<std::size_t>(task % tiles)];
      const std::size_t at = spanned.first_span + static_cast<std::size_t>(first + task / tiles);
      if (at >= spanned.end_span) {
        return;
      }
      const TileRows tile = RowsOf(plan, map, spanned.row_tile, window, spanned.kv_head);
      const KeySpan& span = spans_[at];
      Scratch& scratch = scratch_[static_cast<std::size_t>(thread)];
      const AttentionSums sums = sums_of(spanned, tile, 2 + task / tiles);
      Clear(RowsOfSums(sums, span.first_row * tile.group.size, span.end_row * tile.group.size));
      StoreQueries(tile, span.first_row, span.end_row, span.weighted, pass, scratch);
      ReduceSpan(tile, span, {}, pass, scratch, sums);
    });
    pool.ParallelFor(tiles, [&](std::int64_t task, int /*thread*/) {
      const SpannedTile& spanned = spanned_tiles_[static_cast<std::size_t>(task)];
      const TileRows tile = RowsOf(plan, map, spanned.row_tile, window, spanned.kv_head);
      const AttentionSums totals[2] = {sums_of(spanned, tile, 0), sums_of(spanned, tile, 1)};
      if (first == 0) {
        Clear(totals[0]);
        Clear(totals[1]);
      }
      for (std::int64_t i = 0; i < count; ++i) {
        const std::size_t at = spanned.first_span + static_cast<std::size_t>(first + i);
        if (at >= spanned.end_span) {
          break;
        }
        const KeySpan& span = spans_[at];
        const int begin = span.first_row * tile.group.size;
        const int end = span.end_row * tile.group.size;
        pass.store.kernels().fold(RowsOfSums(sums_of(spanned, tile, 2 + i), begin, end),
                                  RowsOfSums(totals[span.weighted ? 1 : 0], begin, end));
      }
      if (first + count == most_spans) {
        Finish(tile, totals[0], totals[1], pass);
      }
    });
  }
}

void SegmentAttention::AttendTile(const TileRows& tile, const LayerPass& pass,
                                  Scratch& scratch) const {
  const int rows = tile.query_rows();
  const std::int64_t size = rows * (value_stride_ + kRowState);
  const AttentionSums totals[2] = {SumsAt(scratch.sums.data(), rows),
                                   SumsAt(scratch.sums.data() + size, rows)};
  const AttentionSums part = SumsAt(scratch.sums.data() + 2 * size, rows);
  scratch.spans.clear();
  FindAllSpans(tile, scratch.spans);
  for (std::size_t i = 0; i < scratch.spans.size(); ++i) {
    const KeySpan& span = scratch.spans[i];
    const AttentionSums& total = totals[span.weighted ? 1 : 0];
    const bool is_first = i == 0 || scratch.spans[i - 1].weighted != span.weighted;
    if (is_first) {
      StoreQueries(tile, span.weighted ? tile.first_weighted : 0, tile.rows(), span.weighted, pass,
                   scratch);
      Clear(total);
    }
    const KvStore::View next = i + 1 < scratch.spans.size()
                                   ? FirstTile(tile, scratch.spans[i + 1], pass)
                                   : KvStore::View();
    if (is_first) {
      // Gives the same bits as folding the span into an empty total.
      ReduceSpan(tile, span, next, pass, scratch, total);
      continue;
    }
    const int begin = span.first_row * tile.group.size;
    const int end = span.end_row * tile.group.size;
    Clear(RowsOfSums(part, begin, end));
    ReduceSpan(tile, span, next, pass, scratch, part);
    pass.store.kernels().fold(RowsOfSums(part, begin, end), RowsOfSums(total, begin, end));
  }
  if (scratch.spans.empty() || !scratch.spans.back().weighted) {
    Clear(totals[1]);
  }
  Finish(tile, totals[0], totals[1], pass);
}

AttentionSums SegmentAttention::SumsAt(float* memory, int query_rows) const {
  return {query_rows, value_stride_, memory, memory + query_rows * value_stride_};
}

AttentionSums SegmentAttention::RowsOfSums(const AttentionSums& sums, int begin, int end) {
  return {end - begin, sums.value_stride, sums.outputs + begin * sums.value_stride,
          sums.states + static_cast<std::int64_t>(begin) * kRowState};
}

void SegmentAttention::Clear(const AttentionSums& sums) {
  std::fill_n(sums.outputs, sums.rows * sums.value_stride, 0.0F);
  std::fill_n(sums.states, sums.rows * kRowState, 0.0F);
  for (std::int64_t r = 0; r < sums.rows; ++r) {
    sums.states[r * kRowState] = kNoScore;
  }
}

void SegmentAttention::StoreQueries(const TileRows& tile, std::int32_t first_row,
                                    std::int32_t end_row, bool weighted, const LayerPass& pass,
                                    Scratch& scratch) const {
  // If scores are soft-capped, the temperature divides them behind tanh, where the kernel
  // multiplies by the soft-cap; so only scores without soft-cap are divided by the temperature
  // here.
  const float temperature = weighted ? tile.sequence.block_weighting.temperature : 1.0F;
  const float factor = scale_ / (softcap_ != 0 ? softcap_ : temperature);
  const AttentionKernels& kernels = pass.store.kernels();
  for (int r = first_row * tile.group.size; r < end_row * tile.group.size; ++r) {
    const float* query = pass.queries[tile.first_row + r / tile.group.size] +
                         (tile.group.first + r % tile.group.size) * head_dim_;
    kernels.store_query(query, factor, head_dim_,
                        scratch.query.data() + r * head_dim_ * kernels.query_size);
  }
}

KvStore::View SegmentAttention::FirstTile(const TileRows& tile, const KeySpan& span,
                                          const LayerPass& pass) {
  const proto::PlanSegment& segment =
      tile.sequence.segments[static_cast<std::size_t>(span.segment)];
  return pass.store.From(pass.store.At(pass.layer, tile.kv_head, segment.kv), span.first_key);
}

void SegmentAttention::ReduceSpan(const TileRows& tile, const KeySpan& span, KvStore::View next,
                                  const LayerPass& pass, Scratch& scratch,
                                  const AttentionSums& sums) const {
  const std::vector<proto::PlanSegment>& segments = tile.sequence.segments;
  const int group = tile.group.size;
  AttentionTile attended;
  attended.head_dim = head_dim_;
  attended.value_stride = value_stride_;
  if (softcap_ != 0) {
    attended.softcap =
        span.weighted ? softcap_ / tile.sequence.block_weighting.temperature : softcap_;
  }
  std::int32_t first_key = span.first_key;
  std::int32_t tiles = span.tiles;
  for (std::int32_t s = span.segment; tiles > 0; ++s, first_key = 0) {
    const proto::PlanSegment& segment = segments[static_cast<std::size_t>(s)];
    const std::int32_t taken = std::min(tiles, KeyTiles(segment.keys()) - first_key / kTileKeys);
    tiles -= taken;
    const std::int32_t end_key = first_key + taken * kTileKeys;
    int first = tile.query_rows();
    int end = 0;
    for (std::int32_t row = span.first_row; row < span.end_row; ++row) {
      KeyRange keys = SeenKeys(tile, tile.places[static_cast<std::size_t>(row)], s);
      keys.begin = std::max(keys.begin, first_key);
      keys.end = std::min(keys.end, end_key);
      if (keys.begin >= keys.end) {
        keys = {};
      } else {
        first = std::min(first, row * group);
        end = (row + 1) * group;
      }
      std::fill_n(scratch.begin.begin() + row * group, group, keys.begin);
      std::fill_n(scratch.end.begin() + row * group, group, keys.end);
    }
    if (end == 0) {
      continue;
    }
    const KvStore::View behind =
        tiles > 0
            ? pass.store.At(pass.layer, tile.kv_head, segments[static_cast<std::size_t>(s) + 1].kv)
            : next;
    ReduceKeys(pass.store.At(pass.layer, tile.kv_head, segment.kv), behind, first, end,
               tile.window.has_value(), pass, scratch, attended, sums);
  }
}

void SegmentAttention::ReduceKeys(KvStore::View segment, KvStore::View next, int first, int end,
                                  bool has_window, const LayerPass& pass, Scratch& scratch,
                                  AttentionTile& tile, const AttentionSums& sums) const {
  const KvStore& store = pass.store;
  const int* begins = scratch.begin.data();
  const int* ends = scratch.end.data();
  int first_key = 0;
  int end_key = 0;
  for (int r = first; r < end; ++r) {
    if (ends[r] > 0) {
      first_key = end_key == 0 ? begins[r] : std::min(first_key, begins[r]);
      end_key = std::max(end_key, ends[r]);
    }
  }
  for (int key = first_key / kTileKeys * kTileKeys; key < end_key; key += kTileKeys) {
    // The last key that a row sees is not before that of an earlier row, so rows drop out from the
    // front as `key` advances.
    while (ends[first] <= key) {
      ++first;
    }
    for (int r = first; r < end; ++r) {
      scratch.visible[static_cast<std::size_t>(r)] = std::clamp(ends[r] - key, 0, kTileKeys);
    }
    tile.hidden = nullptr;
    if (has_window) {
      for (int r = first; r < end; ++r) {
        int& hidden = scratch.hidden[static_cast<std::size_t>(r)];
        int& visible = scratch.visible[static_cast<std::size_t>(r)];
        hidden = std::clamp(begins[r] - key, 0, kTileKeys);
        visible = hidden < visible ? visible : 0;
        if (hidden > 0) {
          tile.hidden = scratch.hidden.data() + first;
        }
      }
    }
    const KvStore::View view = store.From(segment, key);
    const KvStore::View behind =
        key + kTileKeys < end_key ? store.From(segment, key + kTileKeys) : next;
    const AttentionSums rows = RowsOfSums(sums, first, end);
    tile.keys = view.keys;
    tile.values = view.values;
    tile.next_keys = behind.keys;
    tile.next_values = behind.values;
    tile.rows = rows.rows;
    tile.queries = scratch.query.data() + first * head_dim_ * store.kernels().query_size;
    tile.visible = scratch.visible.data() + first;
    tile.outputs = rows.outputs;
    tile.states = rows.states;
    store.kernels().attend(tile);
  }
}

void SegmentAttention::Finish(const TileRows& tile, const AttentionSums& sums,
                              const AttentionSums& block_sums, const LayerPass& pass) const {
  for (int r = 0; r < tile.query_rows(); ++r) {
    const int row = r / tile.group.size;
    float* out =
        pass.output[tile.first_row + row] + (tile.group.first + r % tile.group.size) * head_dim_;
    if (row < tile.first_weighted) {
      FinishRow(sums, r, out);
    } else {
      FinishWeighted(sums, block_sums, tile.sequence.block_weighting, r, out);
    }
  }
}

void SegmentAttention::FinishRow(const AttentionSums& sums, int query_row, float* out) const {
  const float* sum = sums.outputs + query_row * value_stride_;
  const float factor = 1.0F / SumOfState(sums.states + query_row * kRowState);
  std::transform(sum, sum + head_dim_, out, [factor](float x) { return factor * x; });
}

void SegmentAttention::FinishWeighted(const AttentionSums& sums, const AttentionSums& block_sums,
                                      const proto::BlockWeighting& weighting, int query_row,
                                      float* out) const {
  const float* state = sums.states + query_row * kRowState;
  const float* block_state = block_sums.states + query_row * kRowState;
  const double sum = SumOfState(state);
  const double block_sum = SumOfState(block_state);
  if (block_sum == 0) {
    FinishRow(sums, query_row, out);  // The row sees no blocks.
    return;
  }
  const double weight = state[0] + std::log(sum);
  const double temperature = weighting.temperature;
  const double block_weight =
      temperature * (block_state[0] + std::log(block_sum)) + std::log(double{weighting.scale});
  // Softmax of the two weights. Each factor also divides by its reduction's own sum.
  const double largest = std::max(weight, block_weight);
  const double part = std::exp(weight - largest);
  const double block_part = std::exp(block_weight - largest);
  const auto factor = static_cast<float>(part / (part + block_part) / sum);
  const auto block_factor = static_cast<float>(block_part / (part + block_part) / block_sum);
  const float* values = sums.outputs + query_row * value_stride_;
  const float* block_values = block_sums.outputs + query_row * value_stride_;
  for (std::int64_t d = 0; d < head_dim_; ++d) {
    out[d] = factor * values[d] + block_factor * block_values[d];
  }
}

}  // namespace scorecast::shard

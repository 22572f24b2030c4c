#include "shard/attention/segment_attention.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "shard/runtime/touch_pages.h"

namespace scorecast::shard {
namespace {

/// The number of keys of segment `s` that the row would see without a window. They are the
/// segment's first ones.
std::int32_t VisibleKeys(const RowPlace& row, const std::vector<proto::PlanSegment>& segments,
                         std::int32_t s) {
  const proto::PlanSegment& segment = segments[static_cast<std::size_t>(s)];
  if (row.segment == s) {
    return row.row_in_segment + 1;
  }
  const bool sees =
      s < row.segment &&
      (s >= row.chain_begin ||
       proto::Sees(segments[static_cast<std::size_t>(row.segment)].kind, segment.kind));
  return sees ? segment.compute_end : 0;
}

/// The first of these keys that the window shows, or their number if it shows none.
std::int32_t FirstInWindow(const RowPlace& row, const proto::PlanSegment& segment,
                           std::int32_t keys, std::int64_t window) {
  const std::int64_t first = row.position - window + 1 - segment.first_position;
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(first, 0, keys));
}

float SumOfState(const float* state) { return std::accumulate(state + 1, state + kRowState, 0.0F); }

}  // namespace

SegmentAttention::SegmentAttention(const proto::ModelConfig& config,
                                   const proto::Partition& partition, int threads)
    : heads_(partition.heads),
      kv_heads_(partition.kv_heads),
      group_size_(config.num_query_groups()),
      head_dim_(config.head_dim),
      scale_(config.query_scale != 0 ? static_cast<float>(config.query_scale)
                                     : 1.0F / std::sqrt(static_cast<float>(config.head_dim))),
      softcap_(static_cast<float>(config.attn_logit_softcapping.value_or(0))),
      scratch_(static_cast<std::size_t>(threads)) {
  const auto rows = static_cast<std::size_t>(RowMap::kTileRowLimit * group_size_);
  const auto value_stride =
      static_cast<std::size_t>((head_dim_ + kKeyLanes - 1) / kKeyLanes * kKeyLanes);
  for (Scratch& scratch : scratch_) {
    for (Reduction* reduction : {&scratch.keys, &scratch.block_keys}) {
      reduction->query =
          AlignedBuffer<std::byte>(rows * static_cast<std::size_t>(head_dim_) * sizeof(float));
      reduction->output = AlignedBuffer<float>(rows * value_stride);
      reduction->state = AlignedBuffer<float>(rows * kRowState);
    }
    for (std::vector<int>* keys :
         {&scratch.begin, &scratch.end, &scratch.hidden, &scratch.visible}) {
      keys->resize(rows);
    }
  }
}

void SegmentAttention::Touch(ThreadPool& pool) {
  for (Scratch& scratch : scratch_) {
    for (Reduction* reduction : {&scratch.keys, &scratch.block_keys}) {
      TouchPages(reduction->query.span(), pool);
      TouchPages(std::as_writable_bytes(reduction->output.span()), pool);
      TouchPages(std::as_writable_bytes(reduction->state.span()), pool);
    }
  }
}

void SegmentAttention::Forward(const proto::ForwardPlan& plan, const RowMap& map,
                               std::int64_t layer, std::optional<std::int64_t> window,
                               KvStore& store, Rows<const float> queries, Rows<float> output,
                               ThreadPool& pool) {
  const auto tiles = static_cast<std::int64_t>(map.tiles().size());
  pool.ParallelFor(tiles * kv_heads_.size(), [&](std::int64_t task, int thread) {
    const RowTile& tile = map.tiles()[static_cast<std::size_t>(task % tiles)];
    AttendTile(RowsOf(plan, map, tile, window, task / tiles), layer, store, queries, output,
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
                                                    const RowMap& map, const RowTile& tile,
                                                    std::optional<std::int64_t> window,
                                                    std::int64_t kv_head) const {
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
  return {sequence, places, window, GroupOf(kv_head), kv_head, tile.first_row, first_weighted};
}

void SegmentAttention::AttendTile(const TileRows& tile, std::int64_t layer, KvStore& store,
                                  Rows<const float> queries, Rows<float> output,
                                  Scratch& scratch) const {
  Begin(tile, 0, /*temperature=*/1, store, queries, scratch.keys);
  AttendSegments(tile, /*weighted=*/false, layer, store, scratch, scratch.keys);
  const bool has_weighted = tile.first_weighted < tile.rows();
  const proto::BlockWeighting& weighting = tile.sequence.block_weighting;
  if (has_weighted) {
    Begin(tile, tile.first_weighted, weighting.temperature, store, queries, scratch.block_keys);
    AttendSegments(tile, /*weighted=*/true, layer, store, scratch, scratch.block_keys);
  }
  for (int r = 0; r < tile.rows() * tile.group.size; ++r) {
    const int row = r / tile.group.size;
    float* out =
        output[tile.first_row + row] + (tile.group.first + r % tile.group.size) * head_dim_;
    if (row < tile.first_weighted) {
      Finish(scratch.keys, r, store.value_stride(), out);
    } else {
      FinishWeighted(scratch, weighting, r, store.value_stride(), out);
    }
  }
}

void SegmentAttention::Begin(const TileRows& tile, std::int32_t first_row, float temperature,
                             const KvStore& store, Rows<const float> queries,
                             Reduction& reduction) const {
  // The kernel multiplies by the soft-cap behind tanh, which therefore takes up the temperature.
  const bool has_softcap = softcap_ != 0;
  const float query_factor = scale_ / (has_softcap ? softcap_ : temperature);
  reduction.softcap = has_softcap ? softcap_ / temperature : 0;
  const std::int64_t query_bytes = head_dim_ * store.kernels().element_size;
  const int first = first_row * tile.group.size;
  const int end = tile.rows() * tile.group.size;
  for (int r = first; r < end; ++r) {
    const float* query = queries[tile.first_row + r / tile.group.size] +
                         (tile.group.first + r % tile.group.size) * head_dim_;
    store.kernels().store_query(query, query_factor, head_dim_,
                                reduction.query.data() + r * query_bytes);
    float* state = reduction.state.data() + r * kRowState;
    std::fill_n(state, kRowState, 0.0F);
    state[0] = kNoScore;
  }
  std::fill_n(reduction.output.data() + first * store.value_stride(),
              (end - first) * store.value_stride(), 0.0F);
}

void SegmentAttention::AttendSegments(const TileRows& tile, bool weighted, std::int64_t layer,
                                      KvStore& store, Scratch& scratch,
                                      Reduction& reduction) const {
  const std::vector<proto::PlanSegment>& segments = tile.sequence.segments;
  // Segment kinds come in the order prefix, block, suffix. The last row's kind therefore sees
  // everything that any row of the tile sees, except the rows' own chains; of these, the first
  // row's begins earliest.
  const std::int32_t last_segment = tile.places.back().segment;
  const std::int32_t first_chain = tile.places.front().chain_begin;
  const proto::SegmentKind last_kind = segments[static_cast<std::size_t>(last_segment)].kind;
  for (std::int32_t s = 0; s <= last_segment; ++s) {
    const proto::PlanSegment& segment = segments[static_cast<std::size_t>(s)];
    if (s < first_chain && !proto::Sees(last_kind, segment.kind)) {
      continue;  // Other items: there may be many, and no row of this tile sees them.
    }
    const bool is_block = segment.kind == proto::SegmentKind::kBlock;
    if (weighted && !is_block) {
      continue;
    }
    const std::int32_t first_row = weighted ? tile.first_weighted : 0;
    const std::int32_t end_row = is_block && !weighted ? tile.first_weighted : tile.rows();
    int first = tile.rows() * tile.group.size;
    int end = 0;
    for (std::int32_t row = first_row; row < end_row; ++row) {
      const RowPlace& place = tile.places[static_cast<std::size_t>(row)];
      int keys = VisibleKeys(place, segments, s);
      if (tile.window) {
        const int begin = FirstInWindow(place, segment, keys, *tile.window);
        std::fill_n(scratch.begin.begin() + row * tile.group.size, tile.group.size, begin);
        keys = begin < keys ? keys : 0;
      }
      std::fill_n(scratch.end.begin() + row * tile.group.size, tile.group.size, keys);
      if (keys > 0) {
        first = std::min(first, row * tile.group.size);
        end = (row + 1) * tile.group.size;
      }
    }
    if (first < end) {
      AttendSegment(store, store.At(layer, tile.kv_head, segment.kv), tile.window.has_value(),
                    first, end, scratch, reduction);
    }
  }
}

void SegmentAttention::AttendSegment(const KvStore& store, KvStore::View segment, bool has_window,
                                     int first, int end, Scratch& scratch,
                                     Reduction& reduction) const {
  const int* begins = scratch.begin.data();
  const int* ends = scratch.end.data();
  const int keys = *std::max_element(ends + first, ends + end);
  const int first_key = has_window ? *std::min_element(begins + first, begins + end) : 0;
  AttentionTile tile;
  tile.head_dim = head_dim_;
  tile.value_stride = store.value_stride();
  tile.softcap = reduction.softcap;
  for (int key = first_key / kTileKeys * kTileKeys; key < keys; key += kTileKeys) {
    // Within its own segment a row sees no key of a later row, so the first rows drop out as `key`
    // advances.
    while (ends[first] <= key) {
      ++first;
    }
    for (int r = first; r < end; ++r) {
      scratch.visible[static_cast<std::size_t>(r)] = std::clamp(ends[r] - key, 0, kTileKeys);
    }
    if (has_window) {
      for (int r = first; r < end; ++r) {
        int& hidden = scratch.hidden[static_cast<std::size_t>(r)];
        int& visible = scratch.visible[static_cast<std::size_t>(r)];
        hidden = std::clamp(begins[r] - key, 0, kTileKeys);
        visible = hidden < visible ? visible : 0;
      }
      tile.hidden = scratch.hidden.data() + first;
    }
    const KvStore::View view = store.From(segment, key);
    tile.keys = view.keys;
    tile.values = view.values;
    tile.rows = end - first;
    tile.queries = reduction.query.data() + first * head_dim_ * store.kernels().element_size;
    tile.visible = scratch.visible.data() + first;
    tile.outputs = reduction.output.data() + first * tile.value_stride;
    tile.states = reduction.state.data() + first * kRowState;
    store.kernels().attend(tile);
  }
}

void SegmentAttention::Finish(const Reduction& reduction, int query_row, std::int64_t value_stride,
                              float* out) const {
  const float* sum = reduction.output.data() + query_row * value_stride;
  const float factor = 1.0F / SumOfState(reduction.state.data() + query_row * kRowState);
  std::transform(sum, sum + head_dim_, out, [factor](float x) { return factor * x; });
}

void SegmentAttention::FinishWeighted(const Scratch& scratch,
                                      const proto::BlockWeighting& weighting, int query_row,
                                      std::int64_t value_stride, float* out) const {
  const float* state = scratch.keys.state.data() + query_row * kRowState;
  const float* block_state = scratch.block_keys.state.data() + query_row * kRowState;
  const double sum = SumOfState(state);
  const double block_sum = SumOfState(block_state);
  if (block_sum == 0) {
    Finish(scratch.keys, query_row, value_stride, out);  // The row sees no blocks.
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
  const float* values = scratch.keys.output.data() + query_row * value_stride;
  const float* block_values = scratch.block_keys.output.data() + query_row * value_stride;
  for (std::int64_t d = 0; d < head_dim_; ++d) {
    out[d] = factor * values[d] + block_factor * block_values[d];
  }
}

}  // namespace scorecast::shard

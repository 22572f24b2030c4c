#include "shard/attention/segment_attention.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace scorecast::shard {
namespace {

/// How many keys of segment `s` the row sees.
std::int32_t VisibleKeys(const RowPlace& row, const std::vector<proto::PlanSegment>& segments,
                         std::int32_t s) {
  const proto::PlanSegment& segment = segments[static_cast<std::size_t>(s)];
  if (row.segment == s) {
    return row.row_in_segment + 1;
  }
  const bool sees = s < row.segment &&
                    proto::Sees(segments[static_cast<std::size_t>(row.segment)].kind, segment.kind);
  return sees ? segment.compute_end : 0;
}

}  // namespace

SegmentAttention::SegmentAttention(proto::Range heads, proto::Range kv_heads,
                                   std::int64_t group_size, std::int64_t head_dim, int threads)
    : heads_(heads),
      kv_heads_(kv_heads),
      group_size_(group_size),
      head_dim_(head_dim),
      scratch_(static_cast<std::size_t>(threads)) {
  const auto rows = static_cast<std::size_t>(RowMap::kTileRowLimit * group_size);
  const auto value_stride =
      static_cast<std::size_t>((head_dim + kKeyLanes - 1) / kKeyLanes * kKeyLanes);
  for (Scratch& scratch : scratch_) {
    scratch.query =
        AlignedBuffer<std::byte>(rows * static_cast<std::size_t>(head_dim) * sizeof(float));
    scratch.output = AlignedBuffer<float>(rows * value_stride);
    scratch.state = AlignedBuffer<float>(rows * kRowState);
    scratch.end.resize(rows);
    scratch.visible.resize(rows);
  }
}

void SegmentAttention::Forward(const proto::ForwardPlan& plan, const RowMap& map,
                               std::int64_t layer, KvStore& store, Rows<const float> queries,
                               Rows<float> output, ThreadPool& pool) {
  const auto tiles = static_cast<std::int64_t>(map.tiles().size());
  pool.ParallelFor(tiles * kv_heads_.size(), [&](std::int64_t task, int thread) {
    const RowTile& tile = map.tiles()[static_cast<std::size_t>(task % tiles)];
    AttendTile(plan, map, tile, layer, task / tiles, store, queries, output,
               scratch_[static_cast<std::size_t>(thread)]);
  });
}

SegmentAttention::HeadGroup SegmentAttention::GroupOf(std::int64_t kv_head) const {
  // A group may be shared with the neighbour ranks.
  const std::int64_t group = (kv_heads_.begin + kv_head) * group_size_;
  const std::int64_t first = std::max(group, heads_.begin) - heads_.begin;
  const std::int64_t end = std::min(group + group_size_, heads_.end) - heads_.begin;
  return {first, static_cast<int>(end - first)};
}

void SegmentAttention::AttendTile(const proto::ForwardPlan& plan, const RowMap& map,
                                  const RowTile& tile, std::int64_t layer, std::int64_t kv_head,
                                  KvStore& store, Rows<const float> queries, Rows<float> output,
                                  Scratch& scratch) const {
  const HeadGroup group = GroupOf(kv_head);
  const int query_rows = tile.rows * group.size;
  const std::int64_t value_stride = store.value_stride();
  const std::int64_t query_bytes = head_dim_ * store.kernels().element_size;
  const float scale = 1.0F / std::sqrt(static_cast<float>(head_dim_));

  const auto places = map.rows().subspan(static_cast<std::size_t>(tile.first_row),
                                         static_cast<std::size_t>(tile.rows));
  for (int r = 0; r < query_rows; ++r) {
    const float* query =
        queries[tile.first_row + r / group.size] + (group.first + r % group.size) * head_dim_;
    store.kernels().store_query(query, scale, head_dim_, scratch.query.data() + r * query_bytes);
    float* state = scratch.state.data() + r * kRowState;
    std::fill_n(state, kRowState, 0.0F);
    state[0] = kNoScore;
  }
  std::fill_n(scratch.output.data(), query_rows * value_stride, 0.0F);

  const std::vector<proto::PlanSegment>& segments =
      plan.sequences[static_cast<std::size_t>(places.front().sequence)].segments;
  const std::int32_t first_segment = places.front().segment;
  const std::int32_t last_segment = places.back().segment;
  // Kinds stand in the order prefix, block, suffix: the last row's sees all that any row's sees.
  const proto::SegmentKind last_kind = segments[static_cast<std::size_t>(last_segment)].kind;
  for (std::int32_t s = 0; s <= last_segment; ++s) {
    const proto::PlanSegment& segment = segments[static_cast<std::size_t>(s)];
    if (s < first_segment && !proto::Sees(last_kind, segment.kind)) {
      continue;  // Other items: there may be many, and no row of this tile sees them.
    }
    int first = query_rows;
    int end = 0;
    for (std::int32_t row = 0; row < tile.rows; ++row) {
      const int keys = VisibleKeys(places[static_cast<std::size_t>(row)], segments, s);
      std::fill_n(scratch.end.begin() + row * group.size, group.size, keys);
      if (keys > 0) {
        first = std::min(first, row * group.size);
        end = (row + 1) * group.size;
      }
    }
    if (first < end) {
      AttendSegment(store, store.At(layer, kv_head, segment.kv), first, end, scratch);
    }
  }

  for (int r = 0; r < query_rows; ++r) {
    float* out =
        output[tile.first_row + r / group.size] + (group.first + r % group.size) * head_dim_;
    const float* sum = scratch.output.data() + r * value_stride;
    const float* sums = scratch.state.data() + r * kRowState + 1;
    const float factor = 1.0F / std::accumulate(sums, sums + kRowState - 1, 0.0F);
    std::transform(sum, sum + head_dim_, out, [factor](float x) { return factor * x; });
  }
}

void SegmentAttention::AttendSegment(const KvStore& store, KvStore::View segment, int first,
                                     int end, Scratch& scratch) const {
  const int* ends = scratch.end.data();
  const int keys = *std::max_element(ends + first, ends + end);
  AttentionTile tile;
  tile.head_dim = head_dim_;
  tile.value_stride = store.value_stride();
  for (int key = 0; key < keys; key += kTileKeys) {
    // Within its own segment a row sees no key of a later row: leading rows fall away.
    while (ends[first] <= key) {
      ++first;
    }
    for (int r = first; r < end; ++r) {
      scratch.visible[static_cast<std::size_t>(r)] = std::clamp(ends[r] - key, 0, kTileKeys);
    }
    const KvStore::View view = store.From(segment, key);
    tile.keys = view.keys;
    tile.values = view.values;
    tile.rows = end - first;
    tile.queries = scratch.query.data() + first * head_dim_ * store.kernels().element_size;
    tile.visible = scratch.visible.data() + first;
    tile.outputs = scratch.output.data() + first * tile.value_stride;
    tile.states = scratch.state.data() + first * kRowState;
    store.kernels().attend(tile);
  }
}

}  // namespace scorecast::shard

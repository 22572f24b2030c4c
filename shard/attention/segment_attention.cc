#include "shard/attention/segment_attention.h"

#include <algorithm>
#include <cmath>

namespace scorecast::shard {
namespace {

/// How many of the tile's keys [first_key, first_key + kTileKeys) of segment `s` the row sees.
int VisibleKeys(const RowPlace& row, const std::vector<proto::PlanSegment>& segments,
                std::int32_t s, std::int32_t first_key) {
  const proto::PlanSegment& segment = segments[static_cast<std::size_t>(s)];
  std::int32_t end = 0;
  if (row.segment == s) {
    end = row.row_in_segment + 1;
  } else if (s < row.segment &&
             proto::Sees(segments[static_cast<std::size_t>(row.segment)].kind, segment.kind)) {
    end = segment.compute_end;
  }
  return std::clamp(end - first_key, 0, kTileKeys);
}

}  // namespace

SegmentAttention::SegmentAttention(const Kernels& kernels, proto::Range heads,
                                   proto::Range kv_heads, std::int64_t group_size,
                                   std::int64_t head_dim, int threads)
    : kernels_(kernels),
      heads_(heads),
      kv_heads_(kv_heads),
      group_size_(group_size),
      head_dim_(head_dim),
      scratch_(static_cast<std::size_t>(threads)) {
  const auto query_rows = static_cast<std::size_t>(RowMap::kTileRowLimit * group_size);
  const auto value_stride =
      static_cast<std::size_t>((head_dim + kKeyLanes - 1) / kKeyLanes * kKeyLanes);
  // One row more: the copy that stands in for missing rows of the kernel.
  for (Scratch& scratch : scratch_) {
    scratch.query.resize((query_rows + 1) * static_cast<std::size_t>(head_dim));
    scratch.output.resize((query_rows + 1) * value_stride);
    scratch.state.resize((query_rows + 1) * 2);
    scratch.visible.resize(query_rows + 1);
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

void SegmentAttention::AttendTile(const proto::ForwardPlan& plan, const RowMap& map,
                                  const RowTile& tile, std::int64_t layer, std::int64_t kv_head,
                                  KvStore& store, Rows<const float> queries, Rows<float> output,
                                  Scratch& scratch) const {
  // This rank's query heads of the K/V head; a group may be shared with the neighbour ranks.
  const std::int64_t group = (kv_heads_.begin + kv_head) * group_size_;
  const std::int64_t first_head = std::max(group, heads_.begin) - heads_.begin;
  const std::int64_t last_head = std::min(group + group_size_, heads_.end) - heads_.begin;
  const auto group_heads = static_cast<int>(last_head - first_head);
  const int query_rows = tile.rows * group_heads;
  const std::int64_t value_stride = store.value_stride();
  const float scale = 1.0F / std::sqrt(static_cast<float>(head_dim_));

  const auto places = map.rows().subspan(static_cast<std::size_t>(tile.first_row),
                                         static_cast<std::size_t>(tile.rows));
  for (int r = 0; r < query_rows; ++r) {
    const float* query =
        queries[tile.first_row + r / group_heads] + (first_head + r % group_heads) * head_dim_;
    kernels_.scale(query, head_dim_, scale, scratch.query.data() + r * head_dim_);
    scratch.state[static_cast<std::size_t>(2 * r)] = kNoScore;
    scratch.state[static_cast<std::size_t>(2 * r + 1)] = 0;
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
    const KvStore::View view = store.At(layer, kv_head, segment.kv);
    for (std::int32_t key = 0; key < segment.compute_end; key += kTileKeys) {
      bool any = false;
      for (int r = 0; r < query_rows; ++r) {
        const RowPlace& row = places[static_cast<std::size_t>(r / group_heads)];
        const int visible = VisibleKeys(row, segments, s, key);
        scratch.visible[static_cast<std::size_t>(r)] = visible;
        any = any || visible > 0;
      }
      if (!any) {
        break;  // No row of this tile sees a later key of the segment either.
      }
      AttendKeys(view, key, value_stride, query_rows, scratch);
    }
  }

  for (int r = 0; r < query_rows; ++r) {
    float* out =
        output[tile.first_row + r / group_heads] + (first_head + r % group_heads) * head_dim_;
    kernels_.scale(scratch.output.data() + r * value_stride, head_dim_,
                   1.0F / scratch.state[static_cast<std::size_t>(2 * r + 1)], out);
  }
}

void SegmentAttention::AttendKeys(const KvStore::View& segment, std::int64_t first_key,
                                  std::int64_t value_stride, int query_rows,
                                  Scratch& scratch) const {
  // The row past the last stands in for missing ones; it sees nothing.
  const int spare = query_rows;
  scratch.visible[static_cast<std::size_t>(spare)] = 0;
  scratch.state[static_cast<std::size_t>(2 * spare)] = kNoScore;
  AttentionTile tile;
  tile.head_dim = head_dim_;
  tile.keys = segment.keys + first_key * head_dim_;
  tile.values = segment.values + first_key * value_stride;
  tile.value_stride = value_stride;
  for (int first = 0; first < query_rows; first += kTileRows) {
    int most = 0;
    for (int i = 0; i < kTileRows; ++i) {
      const int r = std::min(first + i, spare);
      const auto lane = static_cast<std::size_t>(i);
      tile.query[lane] = scratch.query.data() + r * head_dim_;
      tile.output[lane] = scratch.output.data() + r * value_stride;
      tile.state[lane] = scratch.state.data() + 2 * r;
      tile.visible[lane] = scratch.visible[static_cast<std::size_t>(r)];
      most = std::max(most, tile.visible[lane]);
    }
    if (most > 0) {
      kernels_.attend_tile(tile);
    }
  }
}

}  // namespace scorecast::shard

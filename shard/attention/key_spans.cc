#include "shard/attention/key_spans.h"

#include <algorithm>
#include <limits>

#include "shard/kernels/attention_kernels.h"

namespace scorecast::shard {
namespace {

using proto::PlanSegment;
using proto::SegmentKind;

/// Segments [begin, end) that continue each other and form one text.
struct Chain {
  std::int32_t begin = 0;
  std::int32_t end = 0;
};

/// The chain that begins with segment `begin`, without segments after `last`.
Chain ChainFrom(const std::vector<PlanSegment>& segments, std::int32_t begin, std::int32_t last) {
  Chain chain = {begin, begin + 1};
  const auto is_part = [&](const PlanSegment& segment) {
    return segment.continues || segment.kind == SegmentKind::kPrefix;
  };
  while (chain.end <= last && is_part(segments[static_cast<std::size_t>(chain.end)])) {
    ++chain.end;
  }
  return chain;
}

/// Whether a row sees any of the chain, if it has no window.
bool SeesChain(const RowPlace& row, const std::vector<PlanSegment>& segments, Chain chain) {
  return row.segment >= chain.begin &&
         (row.chain_begin < chain.end ||
          proto::Sees(segments[static_cast<std::size_t>(row.segment)].kind,
                      segments[static_cast<std::size_t>(chain.begin)].kind));
}

/// Adds a chain's spans for the rows [first_row, end_row) of `rows`.
void AddSpans(const AttendedRows& rows, Chain chain, KeySpan span, std::vector<KeySpan>& spans) {
  std::int64_t first_position = 0;  // First position in the window of the earliest row.
  std::int64_t end_position = std::numeric_limits<std::int64_t>::max();  // Of the latest row.
  if (rows.window) {
    const auto [first, last] = std::ranges::minmax_element(rows.places, {}, &RowPlace::position);
    first_position = first->position - *rows.window + 1;
    if (rows.bidirectional) {
      end_position = last->position + *rows.window;
    }
  }
  const RowPlace& last_row = rows.places.back();
  std::int32_t tile = 0;  // Number of the tile in the chain.
  for (std::int32_t s = chain.begin; s < chain.end; ++s) {
    const PlanSegment& segment = rows.sequence.segments[static_cast<std::size_t>(s)];
    std::int32_t keys = segment.keys();
    if (s == last_row.segment) {
      // The last segment that the rows see, up to the last key that one of them sees.
      keys = rows.bidirectional ? static_cast<std::int32_t>(std::clamp<std::int64_t>(
                                      end_position - segment.first_position, 0, keys))
                                : last_row.row_in_segment + 1;
    }
    const std::int32_t tiles = KeyTiles(keys);
    std::int32_t first = 0;
    if (rows.window) {
      const std::int64_t hidden =
          std::clamp<std::int64_t>(first_position - segment.first_position, 0, keys);
      // A span that has begun contains all of its later tiles.
      const bool has_begun = span.tiles > 0 && tile % kSpanTiles != 0;
      if (!has_begun) {
        first = hidden == keys ? tiles : static_cast<std::int32_t>(hidden) / kTileKeys;
      }
    }
    if (first > 0) {
      span.tiles = 0;  // The tiles before `first` are left out.
      tile += first;
    }
    while (first < tiles) {
      if (span.tiles == 0 || tile % kSpanTiles == 0) {
        span.segment = s;
        span.first_key = first * kTileKeys;
        span.tiles = 0;
        spans.push_back(span);
      }
      const std::int32_t taken = std::min(tiles - first, kSpanTiles - tile % kSpanTiles);
      span.tiles += taken;
      spans.back().tiles = span.tiles;
      first += taken;
      tile += taken;
    }
  }
}

}  // namespace

KeyRange SeenKeys(const AttendedRows& rows, const RowPlace& row, std::int32_t s) {
  const std::vector<PlanSegment>& segments = rows.sequence.segments;
  const PlanSegment& segment = segments[static_cast<std::size_t>(s)];
  KeyRange keys;
  if (row.segment == s) {
    keys.end = rows.bidirectional ? segment.keys() : row.row_in_segment + 1;
  } else if (s < row.segment &&
             (s >= row.chain_begin ||
              proto::Sees(segments[static_cast<std::size_t>(row.segment)].kind, segment.kind))) {
    keys.end = segment.compute_end;
  }
  if (rows.window) {
    const auto in_segment = [&](std::int64_t position) {
      return static_cast<std::int32_t>(
          std::clamp<std::int64_t>(position - segment.first_position, 0, keys.end));
    };
    keys.begin = in_segment(row.position - *rows.window + 1);
    if (rows.bidirectional) {
      keys.end = in_segment(row.position + *rows.window);
    }
  }
  return keys;
}

std::int32_t KeyTiles(std::int32_t keys) { return (keys + kTileKeys - 1) / kTileKeys; }

void FindSpans(const AttendedRows& rows, bool weighted, std::vector<KeySpan>& spans) {
  const std::vector<PlanSegment>& segments = rows.sequence.segments;
  // Segment kinds come in the order prefix, block, suffix. The kind of the last row's segment
  // therefore sees everything that any of the rows sees, except the rows' own chains. The first
  // row's chain begins earliest.
  const std::int32_t last = rows.places.back().segment;
  const std::int32_t first_chain = rows.places.front().chain_begin;
  const SegmentKind last_kind = segments[static_cast<std::size_t>(last)].kind;
  for (Chain chain = {0, 0}; chain.end <= last;) {
    chain = ChainFrom(segments, chain.end, last);
    const SegmentKind kind = segments[static_cast<std::size_t>(chain.begin)].kind;
    if (chain.begin < first_chain && !proto::Sees(last_kind, kind)) {
      continue;  // Other items. There may be many, and none of these rows sees them.
    }
    const bool is_block = kind == SegmentKind::kBlock;
    if (weighted && !is_block) {
      continue;
    }
    KeySpan span;
    span.weighted = weighted;
    span.first_row = rows.rows();
    const std::int32_t end_row = is_block && !weighted ? rows.first_weighted : rows.rows();
    for (std::int32_t row = weighted ? rows.first_weighted : 0; row < end_row; ++row) {
      if (SeesChain(rows.places[static_cast<std::size_t>(row)], segments, chain)) {
        span.first_row = std::min(span.first_row, row);
        span.end_row = row + 1;
      }
    }
    if (span.first_row < span.end_row) {
      AddSpans(rows, chain, span, spans);
    }
  }
}

}  // namespace scorecast::shard

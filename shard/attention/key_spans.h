#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "proto/plan/forward_plan.h"
#include "shard/attention/row_map.h"

namespace scorecast::shard {

/// Tiles of keys that are reduced from a fresh state. See SegmentAttention.
inline constexpr std::int32_t kSpanTiles = 16;

/// Rows of one sequence that are attended together.
struct AttendedRows {
  const proto::PlanSequence& sequence;
  std::span<const RowPlace> places;    ///< [rows]
  std::optional<std::int64_t> window;  ///< The layer's, see LayerConfig.
  bool bidirectional = false;          ///< See ModelConfig.
  std::int32_t first_weighted = 0;     ///< Rows from this one on weigh blocks separately.

  std::int32_t rows() const { return static_cast<std::int32_t>(places.size()); }
};

/// Consecutive tiles of a chain of segments, and the rows that may see keys of them.
struct KeySpan {
  std::int32_t segment = 0;    ///< Segment of the first tile; an index within the sequence.
  std::int32_t first_key = 0;  ///< Row of the first tile's first key in that segment.
  std::int32_t tiles = 0;      ///< At most kSpanTiles.
  std::int32_t first_row = 0;  ///< The rows [first_row, end_row) of AttendedRows.
  std::int32_t end_row = 0;
  bool weighted = false;  ///< Whether the keys are blocks that these rows weigh separately.
};

/// Keys [begin, end) of a segment.
struct KeyRange {
  std::int32_t begin = 0;
  std::int32_t end = 0;
};

/// The keys of segment `s` of the rows' sequence that one of the rows sees.
KeyRange SeenKeys(const AttendedRows& rows, const RowPlace& row, std::int32_t s);

/// Tiles of a segment whose first `keys` rows exist.
std::int32_t KeyTiles(std::int32_t keys);

/// Appends the spans of keys that the rows see, in the order in which they are folded. If
/// `weighted`, these are the spans of the blocks that are weighed separately; otherwise all other
/// spans. Spans are counted from the beginning of a chain: a chain is all prefixes together, or a
/// segment and the segments that continue it. The limits of a span therefore depend neither on the
/// rows nor on whether segments are cut into pages.
void FindSpans(const AttendedRows& rows, bool weighted, std::vector<KeySpan>& spans);

}  // namespace scorecast::shard

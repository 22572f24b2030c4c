#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "proto/plan/packed_sequence.h"

namespace scorecast::reference {

/// The position of every row: [rows].
std::vector<std::int32_t> RowPositions(std::span<const proto::Segment> segments);

/// [rows][rows]: whether a row sees a key. Segments are prefixes, then blocks, then suffixes.
/// Implements the design's description, not `proto::Sees`. A prefix row sees the prefix rows up to
/// itself. A block row sees the prefix, and its own block up to itself. A suffix row sees the
/// prefix, all blocks, and its own suffix up to itself. With a window W, a row at position p sees
/// only those at positions > p - W. A segment that continues the one before it belongs to the same
/// block or suffix. If `bidirectional`, a row also sees all later rows of its own segment, and a
/// window is a bound on the distance to both sides.
std::vector<std::vector<bool>> DenseMask(std::span<const proto::Segment> segments,
                                         std::optional<std::int64_t> sliding_window,
                                         bool bidirectional = false);

}  // namespace scorecast::reference

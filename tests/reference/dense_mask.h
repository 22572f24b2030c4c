#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "proto/plan/packed_sequence.h"

namespace scorecast::reference {

/// Position of every row: [rows].
std::vector<std::int32_t> RowPositions(std::span<const proto::Segment> segments);

/// [rows][rows]: whether a row sees a key. Segments are prefixes, then blocks, then suffixes.
/// Written from the words of the design, not from `proto::Sees`: a prefix row sees the prefix
/// before it, a block row the prefix and its own block up to itself, a suffix row the prefix, all
/// blocks, and its own suffix up to itself; and with a window W, of those only positions > p - W.
/// A segment that continues the one before it is a part of the same block, or of the same suffix.
std::vector<std::vector<bool>> DenseMask(std::span<const proto::Segment> segments,
                                         std::optional<std::int64_t> sliding_window);

}  // namespace scorecast::reference

#include "proto/plan/packed_sequence.h"

#include <algorithm>

namespace scorecast::proto {

std::int64_t PackedSequence::PositionLimit() const {
  std::int64_t limit = 0;
  for (const Segment& segment : segments) {
    limit = std::max<std::int64_t>(limit, std::int64_t{segment.first_position} + segment.length);
  }
  return limit;
}

}  // namespace scorecast::proto

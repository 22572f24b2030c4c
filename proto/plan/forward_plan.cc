#include "proto/plan/forward_plan.h"

#include <algorithm>
#include <bit>

namespace scorecast::proto {

std::uint32_t TokenBucket(std::int64_t rows) {
  return std::bit_ceil(static_cast<std::uint32_t>(std::max<std::int64_t>(rows, 32)));
}

}  // namespace scorecast::proto

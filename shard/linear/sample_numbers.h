#pragma once

#include <cstdint>
#include <vector>

namespace scorecast::shard {

/// Numbers in [-1, 1) that exercise every bit of a sum, for self-checks; which ones does not
/// matter.
std::vector<float> SampleNumbers(std::int64_t count);

}  // namespace scorecast::shard

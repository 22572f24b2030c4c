#pragma once

#include <cstdint>
#include <vector>

namespace scorecast::shard {

/// Numbers in [-1, 1) that use every bit of a sum, for self-checks. Their values do not matter
/// otherwise.
std::vector<float> SampleNumbers(std::int64_t count);

}  // namespace scorecast::shard

#pragma once

#include <cstdint>
#include <vector>

namespace scorecast::shard {

/// Numbers in [-1, 1) for self-checks. Sums of them use every bit; otherwise their values do not
/// matter.
std::vector<float> SampleNumbers(std::int64_t count);

}  // namespace scorecast::shard

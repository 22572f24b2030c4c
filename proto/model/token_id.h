#pragma once

#include <cstdint>

namespace scorecast::proto {

/// Id of a token of the model's vocabulary.
using TokenId = std::int32_t;

}  // namespace scorecast::proto

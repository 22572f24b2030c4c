#pragma once

#include <algorithm>
#include <cstdint>

#include "coordinator/request/values.h"

namespace scorecast::coordinator {

// Upper bounds on the bytes that parts of a response take in a message.

/// Tag and length of a list, and of the message that wraps it.
inline constexpr std::int64_t kListBytes = 2 * 6;
inline constexpr std::int64_t kNumberBytes = 8;
inline constexpr std::int64_t kTopEntryBytes = 4 + 5 + 9;  ///< A TokenLogprob with its tag.
/// All fields of a response that are not lists, except the model's name.
inline constexpr std::int64_t kOtherBytes = 256;
/// A few times the average length of a token's text. If a text is longer, the excess is counted
/// when the response is formed.
inline constexpr std::int64_t kTextBytesPerToken = 16;

/// Bytes of a row of `top_logprobs`. A value out of range counts as the nearest one in range; the
/// request is refused later.
inline std::int64_t TopRowBytes(std::int64_t top_logprobs) {
  return kListBytes + std::clamp<std::int64_t>(top_logprobs, 0, kMaxTopLogprobs) * kTopEntryBytes;
}

}  // namespace scorecast::coordinator

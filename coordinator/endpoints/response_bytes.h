#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "coordinator/request/values.h"
#include "proto/model/model_config.h"

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

/// Bytes of a text. JSON has six bytes for a control character, which is more than it is allowed
/// for each byte of a message: see Call::bytes_per_message_byte.
inline std::int64_t EscapedTextBytes(std::string_view text) {
  const auto num_controls =
      std::ranges::count_if(text, [](char c) { return static_cast<unsigned char>(c) < 0x20; });
  return static_cast<std::int64_t>(text.size()) + (num_controls + 1) / 2;
}

/// Bytes of an embedding, which is kept until a shorter response is formed from it.
inline std::int64_t EmbeddingBytes(const proto::ModelConfig& config) {
  return config.is_embedder() ? config.output_size() * std::int64_t{sizeof(float)} : 0;
}

/// Bytes of a row of `top_logprobs`. A value out of range counts as the nearest one in range; the
/// request is refused later.
inline std::int64_t TopRowBytes(std::int64_t top_logprobs) {
  return kListBytes + std::clamp<std::int64_t>(top_logprobs, 0, kMaxTopLogprobs) * kTopEntryBytes;
}

}  // namespace scorecast::coordinator

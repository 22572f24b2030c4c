#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "proto/model/model_config.h"

namespace scorecast::coordinator {

// Values of which the requests and responses of several endpoints are made.

using proto::TokenId;

/// Text, or the ids of tokens. No token is ever added to ids.
using TextOrIds = std::variant<std::string, std::vector<TokenId>>;

inline bool IsText(const TextOrIds& value) { return std::holds_alternative<std::string>(value); }
inline const std::string& Text(const TextOrIds& value) { return std::get<std::string>(value); }
inline const std::vector<TokenId>& Ids(const TextOrIds& value) {
  return std::get<std::vector<TokenId>>(value);
}

/// One list of labels for all rows, or one for each.
using LabelTokenIds = std::variant<std::vector<TokenId>, std::vector<std::vector<TokenId>>>;

/// The most that `top_logprobs` of a request may be.
inline constexpr std::int64_t kMaxTopLogprobs = 50;

struct Usage {
  /// Each token of the request once, with BOS, and with the delimiter if it is computed. If items
  /// are scored one by one, the tokens of every prompt.
  std::int64_t prompt_tokens = 0;
  std::int64_t completion_tokens = 0;  ///< Generated.
  std::int64_t cached_tokens = 0;      ///< Prompt tokens whose K/V was cached.

  std::int64_t total_tokens() const { return prompt_tokens + completion_tokens; }
  bool operator==(const Usage&) const = default;
};

/// Milliseconds.
struct Timings {
  double queue_ms = 0;     ///< Waiting for the first pass.
  double tokenize_ms = 0;  ///< Checking, tokenizing and packing the request.
  double forward_ms = 0;   ///< From the begin of the first pass to the end of the last.
  double total_ms = 0;     ///< From the arrival of the request to the end of the last pass.
};

using TokenLogprob = std::pair<TokenId, double>;

}  // namespace scorecast::coordinator

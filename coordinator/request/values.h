#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "proto/model/token_id.h"

namespace scorecast::coordinator {

// Values that the requests and responses of several endpoints contain.

using proto::TokenId;

/// A view of text or of token ids in a request. No token, such as BOS, is ever added to ids.
using TextOrIds = std::variant<std::string_view, std::span<const TokenId>>;

inline bool IsText(const TextOrIds& value) {
  return std::holds_alternative<std::string_view>(value);
}
inline std::string_view Text(const TextOrIds& value) { return std::get<std::string_view>(value); }
inline std::span<const TokenId> Ids(const TextOrIds& value) {
  return std::get<std::span<const TokenId>>(value);
}
inline std::vector<TokenId> CopiedIds(const TextOrIds& value) {
  return {Ids(value).begin(), Ids(value).end()};
}

/// The text of one token, or its id.
using TextOrId = std::variant<std::string_view, TokenId>;

/// Views of the labels in a request.
struct GivenLabels {
  std::optional<std::vector<std::string_view>> texts;
  /// One list for all rows or, with `ids_per_item`, one list for each item.
  std::optional<std::vector<std::span<const TokenId>>> ids;
  bool ids_per_item = false;
};

/// Largest `top_logprobs` of a request.
inline constexpr std::int64_t kMaxTopLogprobs = 50;

struct Usage {
  /// Counts each token of the request once, including BOS, and the delimiter if it is computed. If
  /// items are scored one by one, counts the tokens of every prompt.
  std::int64_t prompt_tokens = 0;
  std::int64_t completion_tokens = 0;  ///< Tokens generated.
  std::int64_t cached_tokens = 0;      ///< Prompt tokens that were cached: see JobResult.

  std::int64_t total_tokens() const { return prompt_tokens + completion_tokens; }
};

/// Durations in milliseconds.
struct Timings {
  double queue_ms = 0;     ///< Waiting for the first pass.
  double tokenize_ms = 0;  ///< Checking, tokenizing and packing the request.
  double forward_ms = 0;   ///< From the beginning of the first pass to the end of the last.
  double total_ms = 0;     ///< From the arrival of the request to the end of the last pass.
};

/// A token and its log-probability.
using TokenLogprob = std::pair<TokenId, double>;

}  // namespace scorecast::coordinator

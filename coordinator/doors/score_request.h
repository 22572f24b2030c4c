#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "proto/model/model_config.h"

namespace scorecast::coordinator {

using proto::TokenId;

/// Text, or the ids of tokens. Nothing is ever added to ids.
using TextOrIds = std::variant<std::string, std::vector<TokenId>>;

/// One list of labels for all items, or one for each item.
using LabelTokenIds = std::variant<std::vector<TokenId>, std::vector<std::vector<TokenId>>>;

/// The most that ScoreRequest::top_logprobs may be.
inline constexpr std::int64_t kMaxTopLogprobs = 50;

/// A score request as any door reads it: types are right, values are not looked at yet (see
/// PrepareScore). The fields are those of docs/requests.md.
struct ScoreRequest {
  TextOrIds query;
  std::vector<TextOrIds> items;
  std::optional<LabelTokenIds> label_token_ids;
  std::optional<std::vector<std::string>> labels;
  bool apply_softmax = false;
  bool item_first = false;
  double temperature = 1.0;
  bool return_token_logprobs = false;
  std::int64_t top_logprobs = 0;
  std::int64_t max_new_tokens = 0;
  std::optional<std::int64_t> timeout_ms;
  std::optional<std::string> model;
};

struct Usage {
  /// The tokens of the query and of the items, once each, with BOS and with a delimiter that is
  /// computed. One by one, where query and item are one text, those of every prompt.
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;  ///< Of them, those that were not computed again.
};

/// Milliseconds.
struct Timings {
  double queue_ms = 0;     ///< Waiting for the first pass.
  double tokenize_ms = 0;  ///< Checking, tokenizing and packing the request.
  double forward_ms = 0;   ///< From the first pass's begin to the last one's end.
  double total_ms = 0;     ///< From the request's arrival to the last pass's end.
};

using TokenLogprob = std::pair<TokenId, double>;

struct ScoreResponse {
  std::string model;
  std::vector<std::vector<double>> scores;                             ///< [items][labels]
  std::optional<std::vector<std::vector<double>>> token_logprobs;      ///< [items][labels]
  std::optional<std::vector<double>> query_token_logprobs;             ///< [labels]
  std::optional<std::vector<std::vector<TokenLogprob>>> top_logprobs;  ///< [rows][k], best first
  bool item_first_ignored = false;
  Usage usage;
  Timings timings;
};

}  // namespace scorecast::coordinator

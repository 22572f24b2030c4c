#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/request/values.h"
#include "coordinator/request/request_options.h"

namespace scorecast::coordinator {

/// A score request as any door reads it: types are right, values are not looked at yet (see
/// PrepareScore). The fields are those of docs/requests.md.
struct ScoreRequest : RequestOptions {
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
};

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

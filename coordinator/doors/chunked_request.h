#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/doors/door_values.h"
#include "coordinator/doors/request_options.h"
#include "coordinator/generate/completion_generator.h"
#include "coordinator/generate/completion_options.h"

namespace scorecast::coordinator {

/// A request about documents as any door reads it: types are right, values are not looked at yet
/// (see PrepareChunked). The fields are those of docs/requests.md.
struct ChunkedRequest : RequestOptions {
  std::optional<TextOrIds> system_prompt;
  std::optional<std::vector<TextOrIds>> chunks;
  std::optional<std::vector<std::int64_t>> chunk_groups;
  std::optional<TextOrIds> question;
  std::optional<std::vector<TextOrIds>> questions;
  std::optional<std::string> prompt;

  std::optional<std::string> chunk_position_strategy;
  double chunk_temperature = 1.0;
  double chunk_scale = 1.0;

  std::optional<std::vector<TokenId>> label_token_ids;
  std::optional<std::vector<std::string>> labels;
  bool apply_softmax = false;
  double label_temperature = 1.0;
  bool return_token_logprobs = false;
  std::int64_t top_logprobs = 0;

  std::int64_t max_new_tokens = 0;
  SamplingOptions sampling;  ///< `temperature`, `top_p`, `top_k`, `seed`
  std::vector<std::string> stop;
  std::vector<TokenId> stop_token_ids;
  bool ignore_eos = false;
  bool stream = false;
};

struct ChunkedResponse {
  std::string model;
  std::optional<std::vector<std::vector<double>>> scores;              ///< [questions][labels]
  std::optional<std::vector<CompletionOutput>> outputs;                ///< [questions]
  std::optional<std::vector<std::vector<double>>> token_logprobs;      ///< [questions][labels]
  std::optional<std::vector<std::vector<TokenLogprob>>> top_logprobs;  ///< [questions][k]
  Usage usage;
  Timings timings;
};

}  // namespace scorecast::coordinator

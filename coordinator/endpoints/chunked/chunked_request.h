#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/endpoints/endpoint.h"
#include "coordinator/generate/completion_options.h"
#include "coordinator/request/values.h"

namespace scorecast::coordinator {

/// A request to /v1/chunked. The fields are those of docs/requests.md.
struct ChunkedRequest : EndpointRequest {
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
  std::optional<std::string> activation;
  double label_temperature = 1.0;
  bool return_token_logprobs = false;
  std::int64_t top_logprobs = 0;

  std::int64_t max_new_tokens = 0;
  SamplingOptions sampling;  ///< `temperature`, `top_p`, `top_k`, `seed`
  std::vector<std::string> stop;
  std::vector<TokenId> stop_token_ids;
  bool ignore_eos = false;
  bool stream = false;

  proto::Expected<PreparedRequest> Prepare(const RequestContext& context,
                                           const OnDelta& on_delta) const override;
  /// Counts kTextBytesPerToken for each new token, although its text may be longer.
  std::int64_t ResponseBytesBound(const proto::ModelConfig& config) const override;
  bool streams() const override { return stream; }
};

}  // namespace scorecast::coordinator

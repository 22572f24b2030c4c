#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/endpoints/endpoint.h"
#include "coordinator/request/values.h"

namespace scorecast::coordinator {

/// A request to /v1/score. The fields are those of docs/requests.md.
struct ScoreRequest : EndpointRequest {
  TextOrIds query;
  std::vector<TextOrIds> items;
  std::optional<LabelTokenIds> label_token_ids;
  std::optional<std::vector<std::string>> labels;
  bool apply_softmax = false;
  std::optional<std::string> activation;
  bool item_first = false;
  double temperature = 1.0;
  bool return_token_logprobs = false;
  std::int64_t top_logprobs = 0;
  std::optional<TextOrId> score_extraction_token;
  std::int64_t max_new_tokens = 0;

  proto::Expected<PreparedRequest> Prepare(const RequestContext& context,
                                           const OnDelta& on_delta) const override;
  std::int64_t ResponseBytesBound(const proto::ModelConfig& config) const override;
};

}  // namespace scorecast::coordinator

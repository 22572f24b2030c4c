#pragma once

#include <cstdint>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "coordinator/endpoints/endpoint.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// A request to /detokenize. The fields are those of docs/requests.md.
struct DetokenizeRequest : EndpointRequest {
  /// TEI's form: `ids`. Otherwise vLLM's, with one list: `tokens`.
  bool is_ids = false;
  std::vector<std::vector<TokenId>> lists;
  bool skip_special_tokens = false;

  proto::Expected<PreparedRequest> Prepare(const RequestContext& context,
                                           const OnDelta& on_delta) const override;
  std::int64_t ResponseBytesBound(const proto::ModelConfig& config) const override;
};

/// Reads the body of /detokenize: see BodyReader.
proto::Expected<DetokenizeRequest> DetokenizeRequestFromJson(const nlohmann::json& body);

}  // namespace scorecast::coordinator

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "coordinator/endpoints/endpoint.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// A request to /tokenize. The fields are those of docs/requests.md.
struct TokenizeRequest : EndpointRequest {
  /// TEI's form: `inputs`. Otherwise vLLM's, with one text: `prompt`.
  bool is_inputs = false;
  std::vector<std::string> texts;
  bool add_special_tokens = true;
  bool return_token_strs = false;  ///< Only of vLLM's form.

  proto::Expected<PreparedRequest> Prepare(const RequestContext& context,
                                           const OnDelta& on_delta) const override;
  std::int64_t ResponseBytesBound(const proto::ModelConfig& config) const override;
};

/// Reads the body of /tokenize: see BodyReader.
proto::Expected<TokenizeRequest> TokenizeRequestFromJson(const nlohmann::json& body);

}  // namespace scorecast::coordinator

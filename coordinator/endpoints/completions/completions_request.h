#pragma once

#include <cstdint>

#include "coordinator/endpoints/message_request.h"

namespace scorecast::v1 {
class CompletionsRequest;
}

namespace scorecast::coordinator {

using CompletionsRequest = MessageRequest<v1::CompletionsRequest>;

/// Checks, tokenizes and packs a request to /v1/completions: see EndpointRequest. There is one
/// sequence for each prompt, and `n` completions of each.
proto::Expected<PreparedRequest> PrepareCompletions(CompletionsRequest request,
                                                    const RequestContext& context,
                                                    const OnDelta& on_delta);

/// See EndpointRequest::ResponseBytesBound. Counts kTextBytesPerToken for each token, although its
/// text may be longer.
std::int64_t CompletionsResponseBytesBound(const CompletionsRequest& request,
                                           const proto::ModelConfig& config);

}  // namespace scorecast::coordinator

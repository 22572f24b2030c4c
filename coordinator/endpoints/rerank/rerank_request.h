#pragma once

#include <cstdint>

#include "coordinator/endpoints/message_request.h"

namespace scorecast::v1 {
class RerankRequest;
}

namespace scorecast::coordinator {

/// Checks, tokenizes and packs a request to /v1/rerank, which may have another server's form: see
/// EndpointRequest.
proto::Expected<PreparedRequest> PrepareRerank(MessageRequest<v1::RerankRequest> request,
                                               const RequestContext& context,
                                               const OnDelta& on_delta);

/// See EndpointRequest::ResponseBytesBound.
std::int64_t RerankResponseBytesBound(const MessageRequest<v1::RerankRequest>& request,
                                      const proto::ModelConfig& config);

}  // namespace scorecast::coordinator

#pragma once

#include <cstdint>

#include "coordinator/endpoints/message_request.h"

namespace scorecast::v1 {
class PoolingRequest;
}

namespace scorecast::coordinator {

// A request for what the model makes of texts, whatever that is, as vLLM has it. See
// EndpointRequest.

proto::Expected<PreparedRequest> PreparePooling(MessageRequest<v1::PoolingRequest> request,
                                                const RequestContext& context,
                                                const OnDelta& on_delta);
std::int64_t PoolingResponseBytesBound(const MessageRequest<v1::PoolingRequest>& request,
                                       const proto::ModelConfig& config);

}  // namespace scorecast::coordinator

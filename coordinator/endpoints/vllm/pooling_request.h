#pragma once

#include <cstdint>

#include "coordinator/endpoints/message_request.h"

namespace scorecast::coordinator {

// A request for what the model makes of texts or of a conversation, whatever that is, as vLLM has
// it: a v1::PoolingRequest or a v1::PoolingChatRequest. See EndpointRequest.

template <typename Message>
proto::Expected<PreparedRequest> PreparePooling(MessageRequest<Message> request,
                                                const RequestContext& context,
                                                const OnDelta& on_delta);
template <typename Message>
std::int64_t PoolingResponseBytesBound(const MessageRequest<Message>& request,
                                       const proto::ModelConfig& config);

}  // namespace scorecast::coordinator

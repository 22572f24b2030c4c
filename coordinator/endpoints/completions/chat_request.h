#pragma once

#include <cstdint>

#include "coordinator/endpoints/message_request.h"

namespace scorecast::v1 {
class ChatRequest;
}

namespace scorecast::coordinator {

using ChatRequest = MessageRequest<v1::ChatRequest>;

/// Checks a request to /v1/chat/completions, renders its conversation and tokenizes it, and
/// prepares it as a request to /v1/completions with that prompt: see EndpointRequest.
proto::Expected<PreparedRequest> PrepareChat(ChatRequest request, const RequestContext& context,
                                             const OnDelta& on_delta);

/// See EndpointRequest::ResponseBytesBound and CompletionsResponseBytesBound.
std::int64_t ChatResponseBytesBound(const ChatRequest& request, const proto::ModelConfig& config);

}  // namespace scorecast::coordinator

#pragma once

#include <cstdint>

#include "coordinator/endpoints/message_request.h"

namespace scorecast::coordinator {

// A request for the classes of texts or of a conversation, as vLLM has it: a v1::ClassifyRequest or
// a v1::ClassifyChatRequest. See EndpointRequest.

template <typename Message>
proto::Expected<PreparedRequest> PrepareClassify(MessageRequest<Message> request,
                                                 const RequestContext& context,
                                                 const OnDelta& on_delta);
template <typename Message>
std::int64_t ClassifyResponseBytesBound(const MessageRequest<Message>& request,
                                        const proto::ModelConfig& config);

}  // namespace scorecast::coordinator

#pragma once

#include <cstdint>

#include "coordinator/endpoints/message_request.h"

namespace scorecast::v1 {
class ClassifyRequest;
}

namespace scorecast::coordinator {

// A request for the classes of texts, as vLLM has it. See EndpointRequest.

proto::Expected<PreparedRequest> PrepareClassify(MessageRequest<v1::ClassifyRequest> request,
                                                 const RequestContext& context,
                                                 const OnDelta& on_delta);
std::int64_t ClassifyResponseBytesBound(const MessageRequest<v1::ClassifyRequest>& request,
                                        const proto::ModelConfig& config);

}  // namespace scorecast::coordinator

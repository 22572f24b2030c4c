#pragma once

#include <cstdint>

#include "coordinator/endpoints/message_request.h"

namespace scorecast::v1 {
class SystemOneRequest;
}

namespace scorecast::coordinator {

/// Checks, tokenizes and packs a request to /v1/systemone: see EndpointRequest. The state is the
/// prefix, and each question an item behind it, so what is computed for a question depends on the
/// state and that question alone. A question with one answer has no item.
proto::Expected<PreparedRequest> PrepareSystemOne(MessageRequest<v1::SystemOneRequest> request,
                                                  const RequestContext& context,
                                                  const OnDelta& on_delta);

/// See EndpointRequest::ResponseBytesBound.
std::int64_t SystemOneResponseBytesBound(const MessageRequest<v1::SystemOneRequest>& request,
                                         const proto::ModelConfig& config);

}  // namespace scorecast::coordinator

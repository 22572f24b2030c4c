#pragma once

#include <cstdint>

#include "coordinator/endpoints/message_request.h"

namespace scorecast::v1 {
class TeiPredictRequest;
}

namespace scorecast::coordinator {

// A request for the classes of texts or pairs, as text-embeddings-inference has it. See
// EndpointRequest.

proto::Expected<PreparedRequest> PrepareTeiPredict(MessageRequest<v1::TeiPredictRequest> request,
                                                   const RequestContext& context,
                                                   const OnDelta& on_delta);
std::int64_t TeiPredictResponseBytesBound(const MessageRequest<v1::TeiPredictRequest>& request,
                                          const proto::ModelConfig& config);

}  // namespace scorecast::coordinator

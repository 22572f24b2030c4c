#pragma once

#include <cstdint>

#include "coordinator/endpoints/message_request.h"

namespace scorecast::v1 {
class TeiSimilarityRequest;
}

namespace scorecast::coordinator {

// A request for the similarities of a sentence with others, as text-embeddings-inference has it.
// See EndpointRequest.

proto::Expected<PreparedRequest> PrepareTeiSimilarity(
    MessageRequest<v1::TeiSimilarityRequest> request, const RequestContext& context,
    const OnDelta& on_delta);
std::int64_t TeiSimilarityResponseBytesBound(
    const MessageRequest<v1::TeiSimilarityRequest>& request, const proto::ModelConfig& config);

}  // namespace scorecast::coordinator

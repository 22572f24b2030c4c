#pragma once

#include <cstdint>

#include "coordinator/endpoints/message_request.h"

namespace scorecast::v1 {
class EmbeddingsRequest;
}

namespace scorecast::coordinator {

/// Checks, tokenizes and packs a request to /v1/embeddings: see EndpointRequest.
proto::Expected<PreparedRequest> PrepareEmbeddings(MessageRequest<v1::EmbeddingsRequest> request,
                                                   const RequestContext& context,
                                                   const OnDelta& on_delta);

/// See EndpointRequest::ResponseBytesBound.
std::int64_t EmbeddingsResponseBytesBound(const MessageRequest<v1::EmbeddingsRequest>& request,
                                          const proto::ModelConfig& config);

}  // namespace scorecast::coordinator

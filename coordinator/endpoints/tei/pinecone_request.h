#pragma once

#include <cstdint>

#include "coordinator/endpoints/message_request.h"

namespace scorecast::v1 {
class PineconeEmbedRequest;
}  // namespace scorecast::v1

namespace scorecast::coordinator {

// Requests for the embeddings of texts, as Pinecone has them, whose URL is also that of
// text-embeddings-inference. See EndpointRequest.

proto::Expected<PreparedRequest> PreparePineconeEmbed(
    MessageRequest<v1::PineconeEmbedRequest> request, const RequestContext& context,
    const OnDelta& on_delta);
std::int64_t PineconeEmbedResponseBytesBound(
    const MessageRequest<v1::PineconeEmbedRequest>& request, const proto::ModelConfig& config);

}  // namespace scorecast::coordinator

#pragma once

#include <cstdint>

#include "coordinator/endpoints/message_request.h"

namespace scorecast::v1 {
class CohereEmbedRequest;
}

namespace scorecast::coordinator {

// A request for embeddings as Cohere's API has it, in the form of version 2 or, as a dialect, of
// version 1. See EndpointRequest.

proto::Expected<PreparedRequest> PrepareCohereEmbed(MessageRequest<v1::CohereEmbedRequest> request,
                                                    const RequestContext& context,
                                                    const OnDelta& on_delta);
std::int64_t CohereEmbedResponseBytesBound(const MessageRequest<v1::CohereEmbedRequest>& request,
                                           const proto::ModelConfig& config);

}  // namespace scorecast::coordinator

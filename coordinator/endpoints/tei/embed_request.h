#pragma once

#include <cstdint>

#include "coordinator/endpoints/message_request.h"

namespace scorecast::v1 {
class TeiEmbedAllRequest;
class TeiEmbedRequest;
}  // namespace scorecast::v1

namespace scorecast::coordinator {

// Requests for the embeddings of texts, or of all their tokens, as text-embeddings-inference has
// them. See EndpointRequest.

proto::Expected<PreparedRequest> PrepareTeiEmbed(MessageRequest<v1::TeiEmbedRequest> request,
                                                 const RequestContext& context,
                                                 const OnDelta& on_delta);
std::int64_t TeiEmbedResponseBytesBound(const MessageRequest<v1::TeiEmbedRequest>& request,
                                        const proto::ModelConfig& config);

proto::Expected<PreparedRequest> PrepareTeiEmbedAll(MessageRequest<v1::TeiEmbedAllRequest> request,
                                                    const RequestContext& context,
                                                    const OnDelta& on_delta);
std::int64_t TeiEmbedAllResponseBytesBound(const MessageRequest<v1::TeiEmbedAllRequest>& request,
                                           const proto::ModelConfig& config);

}  // namespace scorecast::coordinator

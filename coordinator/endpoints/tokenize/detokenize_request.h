#pragma once

#include <cstdint>

#include "coordinator/endpoints/message_request.h"

namespace scorecast::v1 {
class DetokenizeTokensRequest;
class DetokenizeIdsRequest;
}  // namespace scorecast::v1

namespace scorecast::coordinator {

// The requests to /detokenize: see EndpointRequest.

/// vLLM's: the text of one list.
proto::Expected<PreparedRequest> PrepareDetokenizeTokens(
    MessageRequest<v1::DetokenizeTokensRequest> request, const RequestContext& context,
    const OnDelta& on_delta);
std::int64_t DetokenizeTokensResponseBytesBound(
    const MessageRequest<v1::DetokenizeTokensRequest>& request, const proto::ModelConfig& config);

/// TEI's: the texts of lists.
proto::Expected<PreparedRequest> PrepareDetokenizeIds(
    MessageRequest<v1::DetokenizeIdsRequest> request, const RequestContext& context,
    const OnDelta& on_delta);
std::int64_t DetokenizeIdsResponseBytesBound(
    const MessageRequest<v1::DetokenizeIdsRequest>& request, const proto::ModelConfig& config);

}  // namespace scorecast::coordinator

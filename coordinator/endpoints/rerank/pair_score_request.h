#pragma once

#include <cstdint>

#include "coordinator/endpoints/message_request.h"

namespace scorecast::v1 {
class PairScoreRequest;
}

namespace scorecast::coordinator {

/// Checks, tokenizes and packs a request to /v1/score as vLLM has it: pairs of a query and a
/// document. Either there is one query for all documents, or there are as many queries as
/// documents. See EndpointRequest.
proto::Expected<PreparedRequest> PreparePairScore(MessageRequest<v1::PairScoreRequest> request,
                                                  const RequestContext& context,
                                                  const OnDelta& on_delta);

/// See EndpointRequest::ResponseBytesBound.
std::int64_t PairScoreResponseBytesBound(const MessageRequest<v1::PairScoreRequest>& request,
                                         const proto::ModelConfig& config);

}  // namespace scorecast::coordinator

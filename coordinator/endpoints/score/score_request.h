#pragma once

#include <cstdint>

#include "coordinator/endpoints/message_request.h"

namespace scorecast::v1 {
class ScoreRequest;
}

namespace scorecast::coordinator {

/// Checks, tokenizes and packs a request to /v1/score: see EndpointRequest. The readout is a
/// ScoreReadout. In multi-item mode, items are read in packed sequences; each item whose tokens
/// merge with the query's has a sequence of its own, before the packed ones or, under SGLang's
/// rules, behind them. One by one, each item has a sequence of its own. Without items there is no
/// sequence.
proto::Expected<PreparedRequest> PrepareScore(MessageRequest<v1::ScoreRequest> request,
                                              const RequestContext& context,
                                              const OnDelta& on_delta);

/// See EndpointRequest::ResponseBytesBound.
std::int64_t ScoreResponseBytesBound(const MessageRequest<v1::ScoreRequest>& request,
                                     const proto::ModelConfig& config);

}  // namespace scorecast::coordinator

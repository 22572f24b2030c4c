#pragma once

#include <cstdint>

#include "coordinator/endpoints/message_request.h"

namespace scorecast::v1 {
class ChunkedRequest;
}

namespace scorecast::coordinator {

using ChunkedRequest = MessageRequest<v1::ChunkedRequest>;

/// Whether the request has a list: `field` is its number. An empty list in a body is one.
bool HasList(const ChunkedRequest& request, int field);

/// Checks, tokenizes and packs a request to /v1/chunked: see EndpointRequest. There is one
/// sequence, and the readout is a ChunkedReadout.
proto::Expected<PreparedRequest> PrepareChunked(ChunkedRequest request,
                                                const RequestContext& context,
                                                const OnDelta& on_delta);

/// See EndpointRequest::ResponseBytesBound. Counts kTextBytesPerToken for each new token, although
/// its text may be longer.
std::int64_t ChunkedResponseBytesBound(const ChunkedRequest& request,
                                       const proto::ModelConfig& config);

}  // namespace scorecast::coordinator

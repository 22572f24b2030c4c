#pragma once

#include <cstdint>

#include "coordinator/endpoints/message_request.h"

namespace scorecast::v1 {
class RecordRerankRequest;
}

namespace scorecast::coordinator {

/// Checks, tokenizes and packs a request to rank records by one of their fields, as Pinecone and
/// mixedbread have it. See EndpointRequest.
proto::Expected<PreparedRequest> PrepareRecordRerank(
    MessageRequest<v1::RecordRerankRequest> request, const RequestContext& context,
    const OnDelta& on_delta);

/// See EndpointRequest::ResponseBytesBound.
std::int64_t RecordRerankResponseBytesBound(const MessageRequest<v1::RecordRerankRequest>& request,
                                            const proto::ModelConfig& config);

}  // namespace scorecast::coordinator

#pragma once

#include "coordinator/endpoints/rerank/rerank_request.h"
#include "coordinator/endpoints/rerank/rerank_response.h"
#include "proto/base/expected.h"

namespace scorecast::v1 {
class RerankRequest;
class RerankResponse;
}  // namespace scorecast::v1

namespace scorecast::coordinator {

/// The response of such a request has the form kResults, whatever the server's own form is.
RerankRequest RerankRequestFromMessage(const v1::RerankRequest& message);

/// Used by clients.
RerankResponse RerankResponseFromMessage(const v1::RerankResponse& message);

}  // namespace scorecast::coordinator

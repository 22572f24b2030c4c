#pragma once

#include "coordinator/endpoints/rerank/rerank_request.h"

namespace scorecast::v1 {
class RerankRequest;
}  // namespace scorecast::v1

namespace scorecast::coordinator {

/// The response of such a request has the form kResults, whatever the server's own form is.
RerankRequest RerankRequestFromMessage(const v1::RerankRequest& message);

}  // namespace scorecast::coordinator

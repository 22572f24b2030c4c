#pragma once

#include "coordinator/endpoints/endpoint.h"

namespace scorecast::coordinator {

/// /v1/rerank, /rerank and /v2/rerank: scores documents against a query by the model's rerank
/// template, and returns them best first.
const Endpoint& RerankEndpoint();

}  // namespace scorecast::coordinator

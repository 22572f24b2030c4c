#pragma once

#include "coordinator/endpoints/endpoint.h"

namespace scorecast::coordinator {

/// /v1/systemone: typed questions about a state, answered by probabilities of the model's decision
/// template. A body in which an object has a key twice is refused.
const Endpoint& SystemOneEndpoint();

}  // namespace scorecast::coordinator

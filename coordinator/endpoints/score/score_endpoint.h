#pragma once

#include "coordinator/endpoints/endpoint.h"

namespace scorecast::coordinator {

/// /v1/score: the probabilities of labels after each item.
const Endpoint& ScoreEndpoint();

}  // namespace scorecast::coordinator

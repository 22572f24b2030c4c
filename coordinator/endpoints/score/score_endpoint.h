#pragma once

#include "coordinator/endpoints/endpoint.h"

namespace scorecast::coordinator {

/// /v1/score: the probabilities of labels, or the scores of a classifier's classes, after each
/// item.
const Endpoint& ScoreEndpoint();

}  // namespace scorecast::coordinator

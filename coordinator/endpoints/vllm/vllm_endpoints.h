#pragma once

#include "coordinator/endpoints/endpoint.h"

namespace scorecast::coordinator {

// Endpoints whose only clients are those of vLLM.

/// /classify and /v1/classify: the classes of texts.
const Endpoint& ClassifyEndpoint();
/// /pooling and /v1/pooling: vectors, those of all tokens, or probabilities of classes.
const Endpoint& PoolingEndpoint();

}  // namespace scorecast::coordinator

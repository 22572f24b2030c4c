#pragma once

#include "coordinator/endpoints/endpoint.h"

namespace scorecast::coordinator {

/// /v1/embeddings and /embeddings: the vectors of texts, as OpenAI and Jina return them.
const Endpoint& EmbeddingsEndpoint();

}  // namespace scorecast::coordinator

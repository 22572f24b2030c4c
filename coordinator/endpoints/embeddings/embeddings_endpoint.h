#pragma once

#include "coordinator/endpoints/endpoint.h"

namespace scorecast::coordinator {

/// /v1/embeddings and /embeddings: the vectors of texts, as OpenAI and Jina return them.
const Endpoint& EmbeddingsEndpoint();

/// /voyage/v1/embeddings: the same as Voyage has it.
const Endpoint& VoyageEmbeddingsEndpoint();

}  // namespace scorecast::coordinator

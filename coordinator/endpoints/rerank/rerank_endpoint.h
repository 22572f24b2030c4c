#pragma once

#include "coordinator/endpoints/endpoint.h"

namespace scorecast::coordinator {

/// /v1/rerank, and the URLs at which other services have reranking: scores documents against a
/// query by the model's rerank template, and returns them best first. The fields of a request tell
/// whose form it has.
const Endpoint& RerankEndpoint();

// Endpoints whose requests have one dialect, because their clients cannot be told by the fields
// that they send.

/// /inference/{model}: scores of pairs, in their order, as DeepInfra has them.
const Endpoint& DeepInfraRerankEndpoint();
/// /infinity/rerank, whose documents are texts in the response.
const Endpoint& InfinityRerankEndpoint();
/// /v1/rerankings, whose `texts` are Isaacus's.
const Endpoint& IsaacusRerankingEndpoint();
/// /pinecone/rerank, whose documents are records.
const Endpoint& PineconeRerankEndpoint();
/// /voyage/v1/rerank, whose response is Voyage's even if the body has no field of Voyage's own.
const Endpoint& VoyageRerankEndpoint();
/// /weaviate/rerank: scores in the order of the documents, as Weaviate's reranker-transformers
/// has them.
const Endpoint& WeaviateRerankEndpoint();

}  // namespace scorecast::coordinator

#include "coordinator/endpoints/endpoints.h"

#include <array>

#include "coordinator/endpoints/chunked/chunked_endpoint.h"
#include "coordinator/endpoints/cohere/embed_endpoints.h"
#include "coordinator/endpoints/completions/chat_endpoint.h"
#include "coordinator/endpoints/completions/completions_endpoint.h"
#include "coordinator/endpoints/decisions/systemone_endpoint.h"
#include "coordinator/endpoints/embeddings/embeddings_endpoint.h"
#include "coordinator/endpoints/rerank/rerank_endpoint.h"
#include "coordinator/endpoints/score/score_endpoint.h"
#include "coordinator/endpoints/tei/tei_endpoints.h"
#include "coordinator/endpoints/tokenize/tokenize_endpoint.h"
#include "coordinator/endpoints/vllm/vllm_endpoints.h"

namespace scorecast::coordinator {

EndpointList Endpoints() {
  static const std::array endpoints = {
      &DetokenizeEndpoint(),
      &TokenizeEndpoint(),
      &ChatEndpoint(),
      &ChunkedEndpoint(),
      &ClassifyEndpoint(),
      &CohereV1EmbedEndpoint(),
      &CohereV2EmbedEndpoint(),
      &CompletionsEndpoint(),
      &DeepInfraRerankEndpoint(),
      &EmbeddingsEndpoint(),
      &InfinityRerankEndpoint(),
      &IsaacusRerankingEndpoint(),
      &PineconeEmbedEndpoint(),
      &PineconeRerankEndpoint(),
      &PoolingEndpoint(),
      &RerankEndpoint(),
      &ScoreEndpoint(),
      &SystemOneEndpoint(),
      &TeiEmbedEndpoint(),
      &TeiEmbedAllEndpoint(),
      &TeiPredictEndpoint(),
      &TeiSimilarityEndpoint(),
      &VoyageEmbeddingsEndpoint(),
      &VoyageRerankEndpoint(),
      &WeaviateRerankEndpoint(),
  };
  return endpoints;
}

}  // namespace scorecast::coordinator

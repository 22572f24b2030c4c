#include "coordinator/endpoints/endpoints.h"

#include <algorithm>
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
#include "coordinator/endpoints/url_pattern.h"
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

const Endpoint* FindByUrl(EndpointList endpoints, std::string_view url) {
  const auto find = [&](const auto& is_that_of) -> const Endpoint* {
    const auto found = std::ranges::find_if(endpoints, [&](const Endpoint* one) {
      return std::ranges::any_of(one->urls(), is_that_of);
    });
    return found == endpoints.end() ? nullptr : *found;
  };
  const Endpoint* const own = find([url](std::string_view one) { return one == url; });
  return own != nullptr ? own : find([url](std::string_view one) { return StandsFor(one, url); });
}

}  // namespace scorecast::coordinator

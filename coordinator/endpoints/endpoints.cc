#include "coordinator/endpoints/endpoints.h"

#include <array>

#include "coordinator/endpoints/chunked/chunked_endpoint.h"
#include "coordinator/endpoints/decisions/systemone_endpoint.h"
#include "coordinator/endpoints/rerank/rerank_endpoint.h"
#include "coordinator/endpoints/score/score_endpoint.h"
#include "coordinator/endpoints/tokenize/tokenize_endpoint.h"

namespace scorecast::coordinator {

EndpointList Endpoints() {
  static const std::array endpoints = {
      &DetokenizeEndpoint(), &TokenizeEndpoint(), &ChunkedEndpoint(),
      &RerankEndpoint(),     &ScoreEndpoint(),    &SystemOneEndpoint(),
  };
  return endpoints;
}

}  // namespace scorecast::coordinator

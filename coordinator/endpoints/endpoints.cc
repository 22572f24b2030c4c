#include "coordinator/endpoints/endpoints.h"

#include <array>

#include "coordinator/endpoints/chunked/chunked_endpoint.h"
#include "coordinator/endpoints/score/score_endpoint.h"

namespace scorecast::coordinator {

EndpointList Endpoints() {
  static const std::array endpoints = {
      &ChunkedEndpoint(),
      &ScoreEndpoint(),
  };
  return endpoints;
}

}  // namespace scorecast::coordinator

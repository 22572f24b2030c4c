#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include "coordinator/endpoints/endpoint.h"
#include "coordinator/json/body_members.h"
#include "coordinator/schedule/clock.h"

namespace scorecast::coordinator {

/// What a line asks for.
struct LineRequest {
  const Endpoint* endpoint = nullptr;
  std::string url;  ///< One of the endpoint's.
  BodyJson body;    ///< Null if the line has none.
  // What the response has if the body does not say it: see EndpointRequest.
  std::uint64_t default_seed = 0;
  ResponseIdentity identity;
  Clock::time_point begun;  ///< When the line was read.
};

}  // namespace scorecast::coordinator

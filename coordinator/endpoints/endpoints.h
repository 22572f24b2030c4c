#pragma once

#include <span>

#include "coordinator/endpoints/endpoint.h"

namespace scorecast::coordinator {

using EndpointList = std::span<const Endpoint* const>;

/// Every endpoint of this server, ordered by URL.
EndpointList Endpoints();

}  // namespace scorecast::coordinator

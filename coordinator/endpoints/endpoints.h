#pragma once

#include <span>
#include <string_view>

#include "coordinator/endpoints/endpoint.h"

namespace scorecast::coordinator {

using EndpointList = std::span<const Endpoint* const>;

/// Every endpoint of this server, ordered by URL.
EndpointList Endpoints();

/// The endpoint of a list that has the URL: as it is, or else one whose URL with a name in braces
/// stands for it. Null if there is none.
const Endpoint* FindByUrl(EndpointList endpoints, std::string_view url);

}  // namespace scorecast::coordinator

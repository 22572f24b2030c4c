#pragma once

#include <span>
#include <string>

#include "coordinator/endpoints/endpoints.h"
#include "coordinator/json/json_text.h"
#include "coordinator/resources/resource.h"

namespace scorecast::coordinator {

/// The OpenAPI 3.1 document of a server with these endpoints and resources. Request bodies are
/// the endpoints' forms, and so are responses.
OrderedJson OpenApiDocument(EndpointList endpoints, std::span<const Resource> resources,
                            const std::string& version);

/// GET /openapi.json: the document, which also has this resource itself.
Resource OpenApiResource(EndpointList endpoints, std::span<const Resource> resources,
                         const std::string& version);

}  // namespace scorecast::coordinator

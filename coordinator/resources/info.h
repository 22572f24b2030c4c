#pragma once

#include "coordinator/resources/resource.h"
#include "coordinator/resources/service_facts.h"

namespace scorecast::coordinator {

/// GET /info: TEI's description of model and server.
Resource InfoResource(const ServiceFacts& facts);

}  // namespace scorecast::coordinator

#pragma once

#include "coordinator/resources/resource.h"
#include "coordinator/resources/service_facts.h"

namespace scorecast::coordinator {

/// GET /v1/models: OpenAI's list, with the one model of this server.
Resource ModelsResource(const ServiceFacts& facts);

}  // namespace scorecast::coordinator

#pragma once

#include "coordinator/endpoints/endpoint.h"

namespace scorecast::coordinator {

// /v1/embed and /v2/embed: the vectors of texts in several encodings, as Cohere returns them.

const Endpoint& CohereV1EmbedEndpoint();
const Endpoint& CohereV2EmbedEndpoint();

}  // namespace scorecast::coordinator

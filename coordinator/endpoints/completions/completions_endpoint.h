#pragma once

#include "coordinator/endpoints/endpoint.h"

namespace scorecast::coordinator {

/// /v1/completions: completions of prompts, as the clients of OpenAI and vLLM ask for them.
const Endpoint& CompletionsEndpoint();

}  // namespace scorecast::coordinator

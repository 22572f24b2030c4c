#pragma once

#include "coordinator/endpoints/endpoint.h"

namespace scorecast::coordinator {

/// /v1/chat/completions: the next message of a conversation, as the clients of OpenAI and vLLM ask
/// for it.
const Endpoint& ChatEndpoint();

}  // namespace scorecast::coordinator

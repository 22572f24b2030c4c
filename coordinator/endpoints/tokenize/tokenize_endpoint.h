#pragma once

#include "coordinator/endpoints/endpoint.h"

namespace scorecast::coordinator {

/// /tokenize: the tokens of texts.
const Endpoint& TokenizeEndpoint();

/// /detokenize: the texts of tokens.
const Endpoint& DetokenizeEndpoint();

}  // namespace scorecast::coordinator

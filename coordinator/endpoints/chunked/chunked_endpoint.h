#pragma once

#include "coordinator/endpoints/endpoint.h"

namespace scorecast::coordinator {

/// /v1/chunked: labels, classes or completions after a prompt of chunks that do not see each other.
const Endpoint& ChunkedEndpoint();

}  // namespace scorecast::coordinator

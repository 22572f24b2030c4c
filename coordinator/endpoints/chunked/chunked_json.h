#pragma once

#include <nlohmann/json_fwd.hpp>

#include "coordinator/endpoints/chunked/chunked_request.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// Reads the body of /v1/chunked: see BodyReader.
proto::Expected<ChunkedRequest> ChunkedRequestFromJson(const nlohmann::json& body);

}  // namespace scorecast::coordinator

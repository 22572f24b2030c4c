#pragma once

#include <nlohmann/json.hpp>

#include "coordinator/endpoints/chunked/chunked_request.h"
#include "coordinator/json/json_text.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// Reads the body of /v1/chunked: see BodyReader. Unknown fields are ignored.
proto::Expected<ChunkedRequest> ChunkedRequestFromJson(const nlohmann::json& body);

JsonAnswerBody ChunkedResponseToJson(const ChunkedResponse& response);

}  // namespace scorecast::coordinator

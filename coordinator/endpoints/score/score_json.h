#pragma once

#include <nlohmann/json_fwd.hpp>

#include "coordinator/endpoints/score/score_request.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// Reads the body of /v1/score: see BodyReader. Unknown fields are ignored, except some that would
/// change the meaning of the response: these are refused with a 400 "not_supported".
proto::Expected<ScoreRequest> ScoreRequestFromJson(const nlohmann::json& body);

}  // namespace scorecast::coordinator

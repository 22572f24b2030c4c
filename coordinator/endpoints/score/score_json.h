#pragma once

#include <nlohmann/json_fwd.hpp>

#include "coordinator/endpoints/score/score_request.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// Reads the body of /v1/score: see BodyReader.
proto::Expected<ScoreRequest> ScoreRequestFromJson(const nlohmann::json& body);

}  // namespace scorecast::coordinator

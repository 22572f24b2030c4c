#pragma once

#include <nlohmann/json.hpp>

#include "coordinator/json/json_text.h"
#include "coordinator/endpoints/score/score_request.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// Reads the body of /v1/score. Types are checked (400 "wrong_type" or "missing_field"; a number
/// with a fraction or an exponent is not an integer), values are not. null is as good as absent.
/// Unknown fields are ignored, but those that would change an answer's meaning are refused
/// ("not_supported").
proto::Expected<ScoreRequest> ScoreRequestFromJson(const nlohmann::json& body);

JsonAnswerBody ScoreResponseToJson(const ScoreResponse& response);

}  // namespace scorecast::coordinator

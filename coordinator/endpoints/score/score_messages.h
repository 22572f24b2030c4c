#pragma once

#include "coordinator/endpoints/score/score_request.h"
#include "coordinator/endpoints/score/score_response.h"
#include "proto/base/expected.h"

namespace scorecast::v1 {
class ScoreRequest;
class ScoreResponse;
}  // namespace scorecast::v1

namespace scorecast::coordinator {

/// A 400 if a required value is missing. Prepare checks everything else.
proto::Expected<ScoreRequest> ScoreRequestFromMessage(const v1::ScoreRequest& message);

/// Used by clients.
ScoreResponse ScoreResponseFromMessage(const v1::ScoreResponse& message);

}  // namespace scorecast::coordinator

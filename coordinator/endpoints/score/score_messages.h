#pragma once

#include "coordinator/endpoints/score/score_request.h"
#include "proto/base/expected.h"

namespace scorecast::v1 {
class ScoreRequest;
}  // namespace scorecast::v1

namespace scorecast::coordinator {

/// A 400 if a required value is missing. Prepare checks everything else.
proto::Expected<ScoreRequest> ScoreRequestFromMessage(const v1::ScoreRequest& message);

}  // namespace scorecast::coordinator

#pragma once

#include <cstdint>

#include "coordinator/endpoints/score/score_request.h"
#include "proto/base/expected.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {

/// The score door's messages as the door-neutral types. A fault is a value that is missing where a
/// message must have one; all else PrepareScore looks at.
proto::Expected<ScoreRequest> ScoreRequestFromMessage(const v1::ScoreRequest& message);

/// No answer's ScoreResponse to this request is longer, in bytes, but for the model's name.
std::int64_t AnswerBytesBound(const ScoreRequest& request);

/// A client's side.
ScoreResponse ScoreResponseFromMessage(const v1::ScoreResponse& message);

void ToMessage(const ScoreResponse& response, v1::ScoreResponse& message);

}  // namespace scorecast::coordinator

#pragma once

#include <cstddef>

#include "coordinator/endpoints/chunked/chunked_request.h"
#include "coordinator/generate/completion_generator.h"
#include "proto/base/expected.h"

namespace scorecast::v1 {
class ChunkedDelta;
class ChunkedRequest;
}  // namespace scorecast::v1

namespace scorecast::coordinator {

/// A 400 if a required value is missing. Prepare checks everything else.
proto::Expected<ChunkedRequest> ChunkedRequestFromMessage(const v1::ChunkedRequest& message);

void ToMessage(std::size_t question, const CompletionDelta& delta, v1::ChunkedDelta& message);

}  // namespace scorecast::coordinator

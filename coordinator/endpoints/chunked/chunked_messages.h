#pragma once

#include "coordinator/endpoints/chunked/chunked_request.h"
#include "proto/base/expected.h"

namespace scorecast::v1 {
class ChunkedRequest;
}  // namespace scorecast::v1

namespace scorecast::coordinator {

/// A 400 if a required value is missing. Prepare checks everything else.
proto::Expected<ChunkedRequest> ChunkedRequestFromMessage(const v1::ChunkedRequest& message);

}  // namespace scorecast::coordinator

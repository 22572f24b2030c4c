#pragma once

#include <string>

#include "coordinator/service/request_service.h"
#include "coordinator/transports/connection/request_handler.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {

/// A message that is not parsed, except for its id, because it has this error.
IncomingRequest RefusedFrameRequest(const std::string& message, const proto::Error& refusal);

/// Parses the message of a frame.
IncomingRequest FrameRequest(const RequestService& service, const std::string& message);

}  // namespace scorecast::coordinator

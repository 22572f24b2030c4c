#pragma once

#include <string>

#include "coordinator/endpoints/request_service.h"
#include "coordinator/transports/connection/request_handler.h"

namespace scorecast::coordinator {

/// Parses the message of a frame.
IncomingRequest FrameRequest(const RequestService& service, const std::string& message);

}  // namespace scorecast::coordinator

#pragma once

#include <cstdint>

#include "coordinator/endpoints/held_bytes.h"
#include "coordinator/transports/socket/pending_request.h"
#include "proto/base/error.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {

/// The response as a frame. Its bytes count in `replies`.
Reply ToReply(const v1::Response& response, HeldBytes& replies);
Reply ErrorReply(std::uint64_t request_id, const proto::Error& error, HeldBytes& replies);

}  // namespace scorecast::coordinator

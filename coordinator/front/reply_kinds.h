#pragma once

#include <string>

#include "coordinator/front/replicas.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {

// What the reply to a request says besides its content.

bool IsSuccess(const v1::Response& response);

/// Whether the reply is that of a replica which takes no request now, or not so many.
bool IsRefusal(const v1::Response& response);

/// The status of a refusal, and its reason if it is a message, for the log.
std::string RefusalText(const v1::Response& refusal);

/// Whether a replica refuses the request because it drains.
bool IsDraining(const v1::Response& response, const Replica& replica);

}  // namespace scorecast::coordinator

#pragma once

#include <optional>
#include <string>

#include "coordinator/transports/connection/connection_call.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {

/// Makes the call that of the client for whom a front passes it on: `forwarded` is a v1::Forwarded.
/// Returns its fault: if it has one, or if the call is of no front. Called before the call is
/// handled.
std::optional<proto::Error> Forward(const std::string& forwarded, ConnectionCall& call);

}  // namespace scorecast::coordinator

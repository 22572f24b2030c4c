#pragma once

#include <string_view>

#include "coordinator/request/values.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {

// `endpoint` is the endpoint's name in the log. `request_id` is the id by which the client knows
// the request, or empty; it has no control characters. `holder` is the name of the client's key, or
// empty.

/// Logs a fault of the server (500) as an error, and any other error at debug level.
void LogRefusal(std::string_view endpoint, std::string_view request_id, std::string_view holder,
                const proto::Error& error);

/// Logs a line at debug level.
void LogResponse(std::string_view endpoint, std::string_view request_id, std::string_view holder,
                 std::string_view summary, const Usage& usage, const Timings& timings);

}  // namespace scorecast::coordinator

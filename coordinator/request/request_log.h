#pragma once

#include <string_view>

#include "coordinator/request/values.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {

// `endpoint` is its name in the log.

/// Faults of the server (500) are logged as errors, all others for debugging.
void LogRefusal(std::string_view endpoint, const proto::Error& error);

void LogResponse(std::string_view endpoint, std::string_view summary, const Usage& usage,
                 const Timings& timings);

}  // namespace scorecast::coordinator

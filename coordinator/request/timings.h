#pragma once

#include <string_view>

#include "coordinator/request/values.h"
#include "coordinator/schedule/job.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {

/// When a door had a request, and had queued it.
struct RequestTimes {
  Clock::time_point arrived;
  Clock::time_point begin;   ///< Of checking, tokenizing and packing.
  Clock::time_point queued;  ///< Its end.
};

Timings TimingsOf(const RequestTimes& times, const JobResult& result);

/// `door` is its name in the log. What is our own fault is an error, all else is for debugging.
void LogRefusal(std::string_view door, const proto::Error& error);

}  // namespace scorecast::coordinator

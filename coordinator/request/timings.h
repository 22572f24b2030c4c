#pragma once

#include "coordinator/request/values.h"
#include "coordinator/schedule/clock.h"
#include "coordinator/schedule/job.h"

namespace scorecast::coordinator {

/// The times of a request before it was queued.
struct RequestTimes {
  Clock::time_point arrived;
  Clock::time_point begin;   ///< When checking, tokenizing and packing began.
  Clock::time_point queued;  ///< When that ended.
};

Timings TimingsOf(const RequestTimes& times, const JobResult& result);

}  // namespace scorecast::coordinator

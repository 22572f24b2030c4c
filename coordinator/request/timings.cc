#include "coordinator/request/timings.h"

#include <chrono>

namespace scorecast::coordinator {
namespace {

double Milliseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

}  // namespace

Timings TimingsOf(const RequestTimes& times, const JobResult& result) {
  Timings timings;
  timings.tokenize_ms = Milliseconds(times.queued - times.begin);
  timings.queue_ms = Milliseconds(result.started - times.queued);
  timings.forward_ms = Milliseconds(result.finished - result.started);
  timings.total_ms = Milliseconds(result.finished - times.arrived);
  return timings;
}

}  // namespace scorecast::coordinator

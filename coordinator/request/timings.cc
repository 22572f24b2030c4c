#include "coordinator/request/timings.h"

#include <chrono>

#include <spdlog/spdlog.h>

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

void LogRefusal(std::string_view door, const proto::Error& error) {
  const auto level = error.code == 500 ? spdlog::level::err : spdlog::level::debug;
  spdlog::log(level, "{}: {} {}: {}", door, error.code, error.reason, error.message);
}

}  // namespace scorecast::coordinator

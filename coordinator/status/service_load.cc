#include "coordinator/status/service_load.h"

#include <algorithm>
#include <chrono>

namespace scorecast::coordinator {
namespace {

constexpr auto kFresh = std::chrono::milliseconds(10);
constexpr auto kWindow = std::chrono::seconds(5);

}  // namespace

LoadMeter::LoadMeter(std::function<SchedulerStatus()> status, std::function<WorkDone()> done,
                     std::function<Clock::time_point()> now)
    : status_(std::move(status)),
      done_(std::move(done)),
      now_(std::move(now)),
      older_{now_(), {}},
      newer_(older_),
      measured_(older_.time) {}

ServiceLoad LoadMeter::Get() {
  const std::lock_guard lock(mutex_);
  if (const Clock::time_point now = now_(); now >= measured_ + kFresh) {
    Measure(now);
  }
  return load_;
}

void LoadMeter::Measure(Clock::time_point now) {
  const SchedulerStatus status = status_();
  const WorkDone done = done_();
  const std::chrono::duration<double> elapsed = now - older_.time;
  load_ = {.requests_per_second =
               static_cast<double>(done.requests - older_.done.requests) / elapsed.count(),
           // A pass that began before the window counts as a whole when it ends.
           .busy = std::clamp((done.pass_seconds - older_.done.pass_seconds) / elapsed.count(), 0.0,
                              1.0),
           .waiting_requests = status.waiting_jobs,
           .running_requests = status.running_jobs,
           .predicted_seconds = status.predicted_seconds,
           .kv_usage = status.kv_usage()};
  measured_ = now;
  if (now - newer_.time >= kWindow) {
    older_ = std::exchange(newer_, {now, done});
  }
}

}  // namespace scorecast::coordinator

#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

#include "coordinator/schedule/clock.h"
#include "coordinator/schedule/queue/scheduler_status.h"

namespace scorecast::coordinator {

/// How busy a service is, for those who spread requests over several services.
struct ServiceLoad {
  double requests_per_second = 0;  ///< Requests that end.
  double busy = 0;                 ///< Share of the time in which passes run, from 0 to 1.
  std::int64_t waiting_requests = 0;
  std::int64_t running_requests = 0;
  double predicted_seconds = 0;  ///< Of the work that waits.
  double kv_usage = 0;           ///< See SchedulerStatus::kv_usage.
};

/// What a service has done since its start.
struct WorkDone {
  std::int64_t requests = 0;  ///< Requests that have ended.
  double pass_seconds = 0;    ///< Time of all passes that are done.
};

/// Knows the load of a service. Its rates are those of the last five to ten seconds, or of the time
/// since the load was asked for last, if that is longer, or since the start, if that is shorter.
/// The service is asked at most a hundred times a second, however many replies have the load. Safe
/// to use from any thread.
class LoadMeter {
 public:
  /// `status` and `done` are called on any thread, by one at a time. `now` is the clock, which
  /// tests replace.
  LoadMeter(std::function<SchedulerStatus()> status, std::function<WorkDone()> done,
            std::function<Clock::time_point()> now = Clock::now);

  ServiceLoad Get();

 private:
  struct Moment {
    Clock::time_point time;
    WorkDone done;
  };

  void Measure(Clock::time_point now);

  const std::function<SchedulerStatus()> status_;
  const std::function<WorkDone()> done_;
  const std::function<Clock::time_point()> now_;
  std::mutex mutex_;
  Moment older_;  ///< The rates count from here on.
  Moment newer_;  ///< Takes the place of `older_` when it is as old as the window.
  Clock::time_point measured_;
  ServiceLoad load_;
};

}  // namespace scorecast::coordinator

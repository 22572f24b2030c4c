#pragma once

#include <chrono>
#include <optional>

namespace scorecast::launcher {

struct RestartLimits {
  /// Number of restarts that may follow each other without a stable time in between.
  int max_restarts = 10;
  /// If a job was ready for this time, its restarts count from 0 again.
  std::chrono::milliseconds stable_time = std::chrono::minutes(1);
  /// Delay before the second restart. The first restart has no delay, and each further one has
  /// twice the delay of the restart before it.
  std::chrono::milliseconds second_delay = std::chrono::milliseconds(500);
  std::chrono::milliseconds max_delay = std::chrono::seconds(30);
};

/// Decides whether and when a job that failed is started again. It reads no clock: the caller says
/// what time it is.
class RestartPolicy {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  explicit RestartPolicy(const RestartLimits& limits) : limits_(limits) {}

  /// To be called when the job serves requests.
  void Ready(TimePoint now);
  /// To be called when the job has ended with a fault. Returns the delay before it is started
  /// again. Returns nothing if it should not be started again: after too many restarts, or if it
  /// was never ready, because the next start would most likely fail in the same way.
  std::optional<std::chrono::milliseconds> Failed(TimePoint now);

  bool was_ever_ready() const { return was_ever_ready_; }
  /// Restarts since the start or since the last stable time.
  int restarts() const { return restarts_; }

 private:
  const RestartLimits limits_;
  bool was_ever_ready_ = false;
  std::optional<TimePoint> ready_since_;
  int restarts_ = 0;
  std::chrono::milliseconds next_delay_{0};
};

}  // namespace scorecast::launcher

#pragma once

#include <chrono>
#include <optional>

namespace scorecast::launcher {

struct RestartLimits {
  /// Restarts without a stable time between them.
  int max_restarts = 10;
  /// A job that was ready for this time has a fresh start: its restarts count from 0 again.
  std::chrono::milliseconds stable_time = std::chrono::minutes(1);
  /// Delay before the second restart. The first has none, and each further one twice the delay of
  /// the one before.
  std::chrono::milliseconds second_delay = std::chrono::milliseconds(500);
  std::chrono::milliseconds max_delay = std::chrono::seconds(30);
};

/// Decides whether and when a job that failed is started again. It reads no clock: the caller says
/// what time it is.
class RestartPolicy {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  explicit RestartPolicy(const RestartLimits& limits) : limits_(limits) {}

  /// The job serves requests.
  void Ready(TimePoint now);
  /// The job has ended with a fault. Returns the delay before it is started again, or nothing if it
  /// should not be: if it was never ready, because the next start would most likely fail in the
  /// same way, or after too many restarts.
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

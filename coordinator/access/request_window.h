#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

#include "coordinator/schedule/clock.h"

namespace scorecast::coordinator {

/// The requests of one client in the last minute. Safe to use from any thread.
class RequestWindow {
 public:
  /// Counts a request that comes now, if with it there are at most `limit` in the last minute.
  /// Otherwise returns the seconds, at least 1, after which one more is allowed.
  std::optional<std::int64_t> Add(std::int64_t limit, Clock::time_point now);

 private:
  std::mutex mutex_;
  std::deque<Clock::time_point> times_;  ///< Of the requests counted, the oldest first.
};

}  // namespace scorecast::coordinator

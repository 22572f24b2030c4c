#include "launcher/supervisor/restart_policy.h"

#include <algorithm>

namespace scorecast::launcher {

void RestartPolicy::Ready(TimePoint now) {
  was_ever_ready_ = true;
  ready_since_ = now;
}

std::optional<std::chrono::milliseconds> RestartPolicy::Failed(TimePoint now) {
  if (ready_since_ && now - *ready_since_ >= limits_.stable_time) {
    restarts_ = 0;
    next_delay_ = std::chrono::milliseconds(0);
  }
  ready_since_.reset();
  if (!was_ever_ready_ || restarts_ == limits_.max_restarts) {
    return std::nullopt;
  }
  ++restarts_;
  const std::chrono::milliseconds delay = next_delay_;
  next_delay_ = std::min(limits_.max_delay, std::max(limits_.second_delay, 2 * delay));
  return delay;
}

}  // namespace scorecast::launcher

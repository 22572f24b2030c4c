#include "coordinator/access/request_window.h"

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace scorecast::coordinator {

std::optional<std::int64_t> RequestWindow::Add(std::int64_t limit, Clock::time_point now) {
  constexpr auto kMinute = std::chrono::minutes(1);
  const std::lock_guard lock(mutex_);
  while (!times_.empty() && now - times_.front() >= kMinute) {
    times_.pop_front();
  }
  if (static_cast<std::int64_t>(times_.size()) < limit) {
    times_.push_back(now);
    return std::nullopt;
  }
  // The limit may have become smaller, so more than one of them may have to pass.
  const Clock::time_point free = times_[times_.size() - static_cast<std::size_t>(limit)] + kMinute;
  return std::max<std::int64_t>(std::chrono::ceil<std::chrono::seconds>(free - now).count(), 1);
}

}  // namespace scorecast::coordinator

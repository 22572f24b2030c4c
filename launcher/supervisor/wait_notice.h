#pragma once

#include <chrono>

namespace scorecast::launcher {

/// Says when a wait has become so long that the log should mention it: after a first time, and then
/// each time that the wait has doubled. It reads no clock; the caller passes the time.
class WaitNotice {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::steady_clock::duration;

  WaitNotice(TimePoint since, Duration first) : since_(since), wait_(first) {}

  /// When the next notice is due.
  TimePoint next() const { return since_ + wait_; }

  /// Whether a notice is due. The next one is due when the wait is at least twice as long.
  bool IsDue(TimePoint now) {
    if (now < next()) {
      return false;
    }
    while (next() <= now) {
      wait_ *= 2;
    }
    return true;
  }

  double SecondsAt(TimePoint now) const {
    return std::chrono::duration<double>(now - since_).count();
  }

 private:
  TimePoint since_;
  Duration wait_;  ///< Until the next notice.
};

}  // namespace scorecast::launcher

#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "coordinator/schedule/clock.h"
#include "coordinator/service/call.h"

namespace scorecast::coordinator {

/// Reports calls whose deadlines have passed, on a thread of its own, so that a deadline waits
/// for nothing that the other threads do. Safe to use from any thread.
class DeadlineTimer {
 public:
  using Now = std::function<Clock::time_point()>;
  /// Called on the timer's thread, which holds no lock then.
  using Passed = std::function<void(const std::vector<std::shared_ptr<Call>>& calls)>;

  /// `now` is the clock, which tests replace.
  explicit DeadlineTimer(Passed passed, Now now = Clock::now);
  ~DeadlineTimer();

  DeadlineTimer(const DeadlineTimer&) = delete;
  DeadlineTimer& operator=(const DeadlineTimer&) = delete;

  Clock::time_point now() const { return now_(); }

  // Neither does anything if the call has no deadline.
  void Add(const std::shared_ptr<Call>& call);
  void Remove(const Call& call);

  /// Reads the clock again, after a test has changed it.
  void ReadClock();

 private:
  using Key = std::pair<Clock::time_point, const Call*>;

  void Run();

  const Passed passed_;
  const Now now_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Key, std::shared_ptr<Call>> waiting_;
  bool must_read_clock_ = false;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace scorecast::coordinator

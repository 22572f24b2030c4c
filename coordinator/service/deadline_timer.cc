#include "coordinator/service/deadline_timer.h"

namespace scorecast::coordinator {

DeadlineTimer::DeadlineTimer(Passed passed, Now now)
    : passed_(std::move(passed)), now_(std::move(now)), thread_([this] { Run(); }) {}

DeadlineTimer::~DeadlineTimer() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void DeadlineTimer::Add(const std::shared_ptr<Call>& call) {
  if (!call->deadline()) {
    return;
  }
  bool is_next = false;
  {
    const std::lock_guard lock(mutex_);
    const auto entry = waiting_.emplace(Key{*call->deadline(), call.get()}, call).first;
    is_next = entry == waiting_.begin();
  }
  if (is_next) {
    ReadClock();
  }
}

void DeadlineTimer::Remove(const Call& call) {
  if (call.deadline()) {
    const std::lock_guard lock(mutex_);
    waiting_.erase({*call.deadline(), &call});
  }
}

void DeadlineTimer::ReadClock() {
  {
    const std::lock_guard lock(mutex_);
    must_read_clock_ = true;
  }
  changed_.notify_all();
}

void DeadlineTimer::Run() {
  std::unique_lock lock(mutex_);
  while (!is_stopping_) {
    must_read_clock_ = false;
    const Clock::time_point now = now_();
    std::vector<std::shared_ptr<Call>> late;
    while (!waiting_.empty() && waiting_.begin()->first.first <= now) {
      late.push_back(std::move(waiting_.begin()->second));
      waiting_.erase(waiting_.begin());
    }
    if (!late.empty()) {
      lock.unlock();
      passed_(late);
      late.clear();
      lock.lock();
      continue;
    }
    const auto must_look = [this] { return is_stopping_ || must_read_clock_; };
    if (waiting_.empty()) {
      changed_.wait(lock, must_look);
    } else {
      changed_.wait_for(lock, waiting_.begin()->first.first - now, must_look);
    }
  }
}

}  // namespace scorecast::coordinator

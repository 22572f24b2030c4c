#include "coordinator/transports/batch/line_window.h"

namespace scorecast::coordinator {

bool LineWindow::Open(const std::shared_ptr<OpenLine>& line) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return stopped_ || HasRoom(line->bytes()); });
  if (stopped_) {
    return false;
  }
  lines_.push_back(line);
  bytes_ += line->bytes();
  changed_.notify_all();
  return true;
}

void LineWindow::AwaitResponseRoom(OpenLine& line, std::int64_t bytes) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    return stopped_ || lines_.size() == 1 || response_bytes_ + bytes <= limits_.max_response_bytes;
  });
  line.response_bytes_ = bytes;
  response_bytes_ += bytes;
}

void LineWindow::Ready(OpenLine& line, std::optional<std::int64_t> response_bytes) {
  const std::lock_guard lock(mutex_);
  if (response_bytes) {
    response_bytes_ += *response_bytes - line.response_bytes_;
    line.response_bytes_ = *response_bytes;
  }
  line.is_ready_ = true;
  changed_.notify_all();
}

void LineWindow::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

std::shared_ptr<OpenLine> LineWindow::Take(
    const std::function<std::optional<Clock::time_point>()>& before_waiting) {
  std::unique_lock lock(mutex_);
  const auto can_return = [&] { return lines_.empty() ? closed_ : lines_.front()->is_ready_; };
  while (!can_return()) {
    const bool was_stopped = stopped_;
    lock.unlock();
    const std::optional<Clock::time_point> again = before_waiting();
    lock.lock();
    const auto wakes = [&] { return can_return() || stopped_ != was_stopped; };
    if (again) {
      changed_.wait_until(lock, *again, wakes);
    } else {
      changed_.wait(lock, wakes);
    }
  }
  return lines_.empty() ? nullptr : lines_.front();
}

void LineWindow::Written() {
  const std::lock_guard lock(mutex_);
  bytes_ -= lines_.front()->bytes();
  response_bytes_ -= lines_.front()->response_bytes_;
  lines_.pop_front();
  changed_.notify_all();
}

void LineWindow::Stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

bool LineWindow::is_stopped() const {
  const std::lock_guard lock(mutex_);
  return stopped_;
}

bool LineWindow::HasRoom(std::int64_t bytes) const {
  return lines_.empty() ||
         (lines_.size() < limits_.max_lines && bytes_ + bytes <= limits_.max_bytes);
}

}  // namespace scorecast::coordinator

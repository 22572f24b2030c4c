#include "coordinator/transports/batch/line_window.h"

#include <utility>

namespace scorecast::coordinator {

std::shared_ptr<LineWindow::Slot> LineWindow::Open(std::int64_t bytes, const RunPoint& end,
                                                   std::int64_t position) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return stopped_ || HasRoom(bytes); });
  if (stopped_) {
    return nullptr;
  }
  auto slot = std::make_shared<Slot>();
  slot->bytes = bytes;
  slot->end = end;
  slot->position = position;
  slots_.push_back(slot);
  bytes_ += bytes;
  changed_.notify_all();
  return slot;
}

void LineWindow::AwaitResponseRoom(Slot& slot, std::int64_t bytes) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    return stopped_ || slots_.size() == 1 || response_bytes_ + bytes <= limits_.max_response_bytes;
  });
  slot.response_bytes = bytes;
  response_bytes_ += bytes;
}

bool LineWindow::Admitted(Slot& slot, const RequestService::Request& request) {
  const std::lock_guard lock(mutex_);
  slot.request = request;
  return !cancelled_;
}

void LineWindow::Ready(Slot& slot, FinishRecord finish) {
  const std::lock_guard lock(mutex_);
  slot.finish = std::move(finish);
  changed_.notify_all();
}

void LineWindow::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

std::shared_ptr<LineWindow::Slot> LineWindow::Take(
    const std::function<std::optional<Clock::time_point>()>& before_waiting) {
  std::unique_lock lock(mutex_);
  const auto can_return = [&] {
    return slots_.empty() ? closed_ : static_cast<bool>(slots_.front()->finish);
  };
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
  return slots_.empty() ? nullptr : slots_.front();
}

void LineWindow::Written() {
  const std::lock_guard lock(mutex_);
  bytes_ -= slots_.front()->bytes;
  response_bytes_ -= slots_.front()->response_bytes;
  slots_.pop_front();
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

std::vector<RequestService::Request> LineWindow::Cancel() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  cancelled_ = true;
  changed_.notify_all();
  std::vector<RequestService::Request> requests;
  for (const std::shared_ptr<Slot>& slot : slots_) {
    requests.push_back(slot->request);
  }
  return requests;
}

bool LineWindow::HasRoom(std::int64_t bytes) const {
  return slots_.empty() ||
         (slots_.size() < limits_.max_lines && bytes_ + bytes <= limits_.max_bytes);
}

}  // namespace scorecast::coordinator

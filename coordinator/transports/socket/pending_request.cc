#include "coordinator/transports/socket/pending_request.h"

namespace scorecast::coordinator {

Scheduler::Ticket PendingRequest::Leave() {
  const std::lock_guard lock(mutex_);
  has_left_ = true;
  return ticket_;
}

bool PendingRequest::HasLeft() const {
  const std::lock_guard lock(mutex_);
  return has_left_;
}

bool PendingRequest::Queued(Scheduler::Ticket ticket) {
  const std::lock_guard lock(mutex_);
  ticket_ = ticket;
  return !has_left_;
}

}  // namespace scorecast::coordinator

#include "coordinator/transports/connection/pending_request.h"

#include <cstdint>
#include <utility>

namespace scorecast::coordinator {

Reply ToReply(std::string bytes, HeldBytes& replies) {
  Held held = replies.Hold(static_cast<std::int64_t>(bytes.size()));
  return {std::move(bytes), std::move(held)};
}

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

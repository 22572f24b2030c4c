#include "coordinator/transports/connection/pending_request.h"

#include <utility>

namespace scorecast::coordinator {

Reply ToReply(std::string bytes, HeldBytes& replies) {
  Held held = replies.Hold(static_cast<std::int64_t>(bytes.size()));
  return {std::move(bytes), std::move(held)};
}

std::shared_ptr<ActiveRequest> PendingRequest::Leave() {
  const std::lock_guard lock(mutex_);
  has_left_ = true;
  return request_.lock();
}

bool PendingRequest::HasLeft() const {
  const std::lock_guard lock(mutex_);
  return has_left_;
}

bool PendingRequest::Admitted(const std::shared_ptr<ActiveRequest>& request) {
  const std::lock_guard lock(mutex_);
  request_ = request;
  return !has_left_;
}

}  // namespace scorecast::coordinator

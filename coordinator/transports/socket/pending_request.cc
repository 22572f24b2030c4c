#include "coordinator/transports/socket/pending_request.h"

#include <utility>

#include "coordinator/endpoints/value_messages.h"
#include "proto/scorecast.pb.h"
#include "proto/wire/frame.h"

namespace scorecast::coordinator {

Reply ToReply(const v1::Response& response, HeldBytes& replies) {
  std::string frame = proto::ToFrame(response);
  Held held = replies.Hold(static_cast<std::int64_t>(frame.size()));
  return {std::move(frame), std::move(held)};
}

Reply ErrorReply(std::uint64_t request_id, const proto::Error& error, HeldBytes& replies) {
  v1::Response response;
  response.set_request_id(request_id);
  ToMessage(error, *response.mutable_error());
  return ToReply(response, replies);
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

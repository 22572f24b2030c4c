#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "coordinator/endpoints/held_bytes.h"
#include "coordinator/schedule/scheduler.h"
#include "proto/base/error.h"

namespace scorecast::v1 {
class Response;
}

namespace scorecast::coordinator {

/// One v1::Response as a frame, or several of one request.
struct Reply {
  std::string frames;
  Held held;
  bool is_last = true;  ///< No further reply comes for the request.
  /// Called once the frames are in the client's socket, unless the client has left; may be empty.
  std::function<void()> written = {};
};

Reply ToReply(const v1::Response& response, HeldBytes& replies);
Reply ErrorReply(std::uint64_t request_id, const proto::Error& error, HeldBytes& replies);

/// A message that is being handled, as its connection sees it.
class PendingRequest {
 public:
  /// `replies` counts the bytes of its replies and outlives them.
  explicit PendingRequest(HeldBytes& replies) : replies_(replies) {}

  HeldBytes& replies() { return replies_; }

  /// The client has left. Returns what to cancel; if nothing is queued yet, nothing will be.
  Scheduler::Ticket Leave();
  bool HasLeft() const;
  /// False if the client has left: then the ticket is to be cancelled.
  bool Queued(Scheduler::Ticket ticket);

 private:
  HeldBytes& replies_;
  mutable std::mutex mutex_;
  bool has_left_ = false;
  Scheduler::Ticket ticket_ = Scheduler::kNoTicket;
};

}  // namespace scorecast::coordinator

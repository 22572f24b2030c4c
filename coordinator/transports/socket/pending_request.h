#pragma once

#include <functional>
#include <mutex>
#include <string>

#include "coordinator/endpoints/held_bytes.h"
#include "coordinator/schedule/scheduler.h"

namespace scorecast::coordinator {

/// Bytes for the client: all of one request's response, or the next part of it.
struct Reply {
  std::string bytes;
  Held held;
  bool is_last = true;  ///< No further reply comes for the request.
  /// Called once the bytes are in the client's socket, unless the client has left; may be empty.
  std::function<void()> written = {};
};

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

#pragma once

#include <functional>
#include <mutex>
#include <string>

#include "coordinator/endpoints/held_bytes.h"
#include "coordinator/schedule/scheduler.h"

namespace scorecast::coordinator {

/// Bytes for the client: the whole response to a request, or the next part of it.
struct Reply {
  std::string bytes;
  Held held;
  bool is_last = true;  ///< No further reply comes for the request.
  /// Called once the bytes are in the client's socket, unless the client has left; may be empty.
  std::function<void()> written = {};
};

/// A last reply, whose bytes count in `replies`.
Reply ToReply(std::string bytes, HeldBytes& replies);

/// What the connection knows of a request that is being handled: its ticket, and whether the client
/// has left.
class PendingRequest {
 public:
  /// `replies` counts the bytes of the replies to the request, and outlives them.
  explicit PendingRequest(HeldBytes& replies) : replies_(replies) {}

  HeldBytes& replies() { return replies_; }

  /// Records that the client has left. Returns the ticket to cancel; it is kNoTicket if no job is
  /// queued yet.
  Scheduler::Ticket Leave();
  bool HasLeft() const;
  /// Records the ticket of the queued job. False if the client has left: the caller must then
  /// cancel the ticket.
  bool Queued(Scheduler::Ticket ticket);

 private:
  HeldBytes& replies_;
  mutable std::mutex mutex_;
  bool has_left_ = false;
  Scheduler::Ticket ticket_ = Scheduler::kNoTicket;
};

}  // namespace scorecast::coordinator

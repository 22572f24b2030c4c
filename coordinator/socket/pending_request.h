#pragma once

#include <functional>
#include <mutex>
#include <string>

#include "coordinator/schedule/scheduler.h"
#include "coordinator/socket/held_bytes.h"

namespace scorecast::coordinator {

/// Bytes for the client: all of one request's response, or the next part of it.
struct Reply {
  std::string bytes;
  Held held;
  bool is_last = true;  ///< Nothing more comes for the request.
  /// Called once the bytes are in the client's socket, unless the client has left; may be empty.
  std::function<void()> written = {};
};

/// A message that is being handled, for whoever sent it.
class PendingRequest {
 public:
  /// `answers` is where its answer counts; it outlives the request's reply.
  explicit PendingRequest(HeldBytes& answers) : answers_(answers) {}

  HeldBytes& answers() { return answers_; }

  /// The sender has left. Returns what to cancel; where nothing is queued yet, nothing will be.
  Scheduler::Ticket Leave();
  bool HasLeft() const;
  /// False where the sender has left: then the ticket is to be cancelled.
  bool Queued(Scheduler::Ticket ticket);

 private:
  HeldBytes& answers_;
  mutable std::mutex mutex_;
  bool has_left_ = false;
  Scheduler::Ticket ticket_ = Scheduler::kNoTicket;
};

}  // namespace scorecast::coordinator

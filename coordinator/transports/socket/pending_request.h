#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "coordinator/schedule/scheduler.h"
#include "coordinator/endpoints/held_bytes.h"
#include "proto/base/error.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {

/// One v1::Response as a frame, or several of one request.
struct Reply {
  std::string frames;
  Held held;
  bool is_last = true;  ///< Nothing more comes for the request.
  /// Called once the frames are in the client's socket, unless the client has left; may be empty.
  std::function<void()> written = {};
};

Reply ToReply(const v1::Response& response, HeldBytes& answers);
Reply ErrorReply(std::uint64_t request_id, const proto::Error& error, HeldBytes& answers);

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

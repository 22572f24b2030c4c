#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "coordinator/schedule/client_id.h"
#include "coordinator/schedule/clock.h"
#include "coordinator/service/active_request.h"
#include "coordinator/service/held_bytes.h"

namespace scorecast::coordinator {

/// Bytes for the client: the whole response to a request, or the next part of it.
struct Reply {
  std::string bytes;
  Held held;
  bool is_last = true;  ///< No further reply comes for the request.
  /// Called once the bytes are in the client's socket, unless the client has left; may be empty.
  std::function<void()> written = {};
  /// The connection is to be closed when this last reply is written.
  bool ends_connection = false;
};

/// A last reply, whose bytes count in `replies`.
Reply ToReply(std::string bytes, HeldBytes& replies);

/// What the connection knows of a request that is being handled: when it arrived, its place in the
/// service, and whether the client has left.
class PendingRequest {
 public:
  /// `replies` counts the bytes of the replies to the request, and outlives them. `arrived` is the
  /// time of the request's first byte.
  PendingRequest(HeldBytes& replies, ClientId client, Clock::time_point arrived)
      : replies_(replies), client_(std::move(client)), arrived_(arrived) {}

  HeldBytes& replies() { return replies_; }
  const ClientId& client() const { return client_; }
  Clock::time_point arrived() const { return arrived_; }

  /// Records that the client has left. Returns the request to cancel. Null if the service does not
  /// have it yet, or no longer.
  std::shared_ptr<ActiveRequest> Leave();
  bool HasLeft() const;
  /// Records that the service has the request. False if the client has left: the caller must then
  /// cancel the request.
  bool Admitted(const std::shared_ptr<ActiveRequest>& request);

 private:
  HeldBytes& replies_;
  const ClientId client_;
  const Clock::time_point arrived_;
  mutable std::mutex mutex_;
  bool has_left_ = false;
  std::weak_ptr<ActiveRequest> request_;  ///< Weak, because the request's sink holds this object.
};

}  // namespace scorecast::coordinator

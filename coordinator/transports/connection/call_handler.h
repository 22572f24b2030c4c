#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "coordinator/access/api_keys.h"
#include "coordinator/endpoints/endpoint.h"
#include "coordinator/schedule/client_id.h"
#include "coordinator/schedule/clock.h"
#include "coordinator/service/call.h"
#include "coordinator/service/held_bytes.h"
#include "coordinator/transports/connection/client_counters.h"
#include "coordinator/transports/connection/connection_call.h"
#include "coordinator/transports/connection/socket_options.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {

/// Takes the calls of a server's connections, and replies to them. Its functions may be called on
/// any thread.
class CallHandler {
 public:
  explicit CallHandler(const SocketOptions& options)
      : keys_(options.keys), replies_(options.max_held_bytes) {}
  virtual ~CallHandler() = default;

  CallHandler(const CallHandler&) = delete;
  CallHandler& operator=(const CallHandler&) = delete;

  /// Called once for each call that has a format. Refuses it if there is a fault, or if its client
  /// is not let in. Calls its Begun when the bytes that its reply may take count in the call's
  /// replies.
  virtual void Handle(std::shared_ptr<ConnectionCall> call, std::optional<proto::Error> fault) = 0;
  /// The clients of these calls have left: see Call::Leave.
  virtual void Cancel(const std::vector<std::shared_ptr<Call>>& calls) = 0;
  /// Is told how long the first byte of a request waited unread.
  virtual void NoteIoWait(Clock::duration wait) = 0;

  /// From now on new calls are refused.
  virtual void StartDraining() = 0;
  virtual bool is_draining() const = 0;
  /// Returns when every call is handled and over. Every client must have left, and no call may be
  /// handled afterwards.
  virtual void Finish() = 0;

  const HeldBytes& replies() const { return replies_; }
  ClientCounters& counters() { return counters_; }
  /// Counts an error that a protocol sends without Handle. `endpoint` is null if it is not known.
  /// `holder` is null if the client has shown no key. If keys are needed, it has no name then.
  void CountRefusal(const Endpoint* endpoint, const ClientId& client, const Holder& holder,
                    const proto::Error& error);
  /// The same for a client that is let in.
  void CountRefusal(const Endpoint* endpoint, const ClientName& client, const proto::Error& error);

 protected:
  /// Why the call's client is not let in, if its request is for `model`. Counts the request. Null
  /// keys let everybody in, and so does a front.
  std::optional<proto::Error> AccessFault(ConnectionCall& call, std::string_view model) const;
  /// Called for each refusal that is counted.
  virtual void NoteRefusal(const Endpoint* endpoint, const ClientName& client,
                           const proto::Error& error) = 0;

 private:
  const std::shared_ptr<const ApiKeys> keys_;  ///< See SocketOptions.
  ClientCounters counters_;
  HeldBytes replies_;  ///< Replies to all clients, counted from the arrival of their requests on.
};

}  // namespace scorecast::coordinator

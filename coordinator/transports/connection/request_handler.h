#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "coordinator/access/api_keys.h"
#include "coordinator/endpoints/endpoint.h"
#include "coordinator/schedule/clock.h"
#include "coordinator/service/held_bytes.h"
#include "coordinator/service/request_service.h"
#include "coordinator/transports/connection/client_counters.h"
#include "coordinator/transports/connection/connection_call.h"
#include "coordinator/transports/connection/fair_pool.h"
#include "coordinator/transports/connection/patient_pool.h"
#include "coordinator/transports/connection/socket_options.h"
#include "coordinator/transports/connection/text_backlog.h"
#include "coordinator/transports/connection/turn_pool.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {

/// Turns requests into the bytes of their replies: the part of a transport that needs no socket.
///
/// Short requests and replies are handled on the I/O threads. All longer work is done by threads of
/// its own, at which client addresses take turns, so that it delays no short request: the parsing
/// of long requests, which shows their deadlines, by one thread for those of up to a MiB and one
/// for larger ones, or their refusal if their turn does not come in time; the tokenizing of all but
/// the shortest requests by several, at which even a request under way gives way to others; and the
/// forming of long replies by several others.
class RequestHandler {
 public:
  /// `threads` is the number of threads for each kind of long work that has several.
  RequestHandler(RequestService& service, const SocketOptions& options, int threads);
  /// See Finish.
  ~RequestHandler() { Finish(); }

  /// Called once for each call that has a format. Refuses it if there is a fault, or if its client
  /// is not let in. Calls its Begun when it is queued, and its response, if it is still to be
  /// computed, counts in the call's replies.
  void Handle(std::shared_ptr<ConnectionCall> call,
              std::optional<proto::Error> fault = std::nullopt);

  /// Returns when every call is handled and over. Every client must have left, and no call may be
  /// handled afterwards.
  void Finish();

  // For the calls.

  /// Forms the reply to a call that is over, and sends it, unless the client has left.
  void Respond(std::shared_ptr<ConnectionCall> call);
  /// Called once for each call, when it is over. The handler may be destroyed afterwards.
  void Ended();

  const HeldBytes& replies() const { return replies_; }
  ClientCounters& counters() { return counters_; }
  /// Counts an error that a protocol sends without Handle. `endpoint` is null if it is not known.
  /// May be called on any thread.
  /// `holder` is null if the client has shown no key. If keys are needed, it has no name then.
  void CountRefusal(const Endpoint* endpoint, const ClientId& client, const Holder& holder,
                    const proto::Error& error);
  /// The same for a client that is let in.
  void CountRefusal(const Endpoint* endpoint, const ClientName& client, const proto::Error& error);

 private:
  /// Requests with more bytes than this are tokenized by `preparing_`. Small, because the items of
  /// a request may each be tokenized together with its query.
  static constexpr std::size_t kShortBytes = std::size_t{1} << 10;
  /// Upper bound on the memory that tokenizing takes for each byte of a request: a token id.
  static constexpr std::int64_t kTokenBytes = 4;

  /// Long requests with more bytes than this are parsed by `parsing_large_`.
  static constexpr std::size_t kLargeBytes = std::size_t{1} << 20;

  /// Why the call's client is not let in. Null keys let everybody in, and so does a front.
  std::optional<proto::Error> AccessFault(ConnectionCall& call) const;
  /// Lets a long request be parsed when it is its turn.
  void PostParsing(PatientPool& pool, std::shared_ptr<ConnectionCall> call);
  void Read(const std::shared_ptr<ConnectionCall>& call,
            const std::optional<proto::Error>& refusal);
  /// See RequestService::Prepare.
  bool Prepare(const std::shared_ptr<ConnectionCall>& call, const std::function<void()>& give_way);
  void Form(ConnectionCall& call);

  RequestService& service_;
  const std::shared_ptr<const ApiKeys> keys_;  ///< See SocketOptions.
  ClientCounters counters_;
  HeldBytes replies_;  ///< Replies to all clients, counted from the arrival of their requests on.

  std::mutex mutex_;
  std::condition_variable ended_;
  std::size_t calls_ = 0;  ///< Those that the service has and that are not over.

  PatientPool parsing_;
  PatientPool parsing_large_;
  TextBacklog backlog_;  ///< The work of `preparing_`.
  TurnPool preparing_;
  FairPool replying_;
};

}  // namespace scorecast::coordinator

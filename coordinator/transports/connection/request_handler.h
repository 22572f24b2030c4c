#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <boost/asio/any_io_executor.hpp>

#include "coordinator/endpoints/endpoint.h"
#include "coordinator/schedule/clock.h"
#include "coordinator/service/held_bytes.h"
#include "coordinator/service/request_service.h"
#include "coordinator/transports/connection/client_counters.h"
#include "coordinator/transports/connection/fair_pool.h"
#include "coordinator/transports/connection/patient_pool.h"
#include "coordinator/transports/connection/pending_request.h"
#include "coordinator/transports/connection/reply_format.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {

/// A request as a protocol parses it.
struct IncomingRequest {
  std::shared_ptr<ReplyFormat> format;
  const Endpoint* endpoint = nullptr;  ///< Null if the request names none; `parsed` says why.
  ParsedRequest parsed;
  Held bytes;  ///< Those of the request. They stay held until it is prepared. May be null.
  std::size_t inflated_bytes = 0;  ///< Size of the request if it was compressed, otherwise 0.
  std::string request_id = {};     ///< See ResponseSink::request_id.
};

/// Turns requests into the bytes of their replies: the part of a transport that needs no socket.
///
/// Short requests and replies are handled on the I/O threads. All longer work is done by threads of
/// its own, at which client addresses take turns, so that it delays no short request: the parsing
/// of long requests, which shows their deadlines, by one thread, or their refusal if their turn
/// does not come in time; the tokenizing of all but the shortest requests by several; and the
/// forming of long replies by several others.
class RequestHandler {
 public:
  /// Replies are formed on `executor`, which outlives the handler, and whose threads still run
  /// when Finish is called. `requests` counts the memory of requests that are being tokenized.
  /// `max_reply_bytes` bounds the replies of all clients: see SocketOptions::max_held_bytes.
  /// `patience` is that of SocketOptions::long_patience.
  /// `threads` is the number of threads for each kind of long work that has several.
  RequestHandler(RequestService& service, boost::asio::any_io_executor executor,
                 HeldBytes& requests, std::int64_t max_reply_bytes, Clock::duration patience,
                 int threads);
  /// See Finish.
  ~RequestHandler() { Finish(); }

  /// Called once, on any thread. Owns the bytes of the request. If there is a `refusal`, the
  /// request is not parsed and has that error. Throws nothing.
  using Parse = std::function<IncomingRequest(const RequestService&,
                                              const std::optional<proto::Error>& refusal)>;
  /// Called on any thread, for each reply in order. Not called any more once the client has left.
  using Replied = std::function<void(Reply)>;
  /// Called once, on any thread, when the request is queued, and its response, if it is still to be
  /// computed, counts in the replies of `pending`.
  using Begun = std::function<void()>;

  /// `bytes` is the size of the request.
  void Handle(std::size_t bytes, Parse parse, std::shared_ptr<PendingRequest> pending, Begun begun,
              Replied replied);

  /// Returns when every request is handled and every sink has its response. Every client must have
  /// left, and no request may be handled afterwards.
  void Finish();

  HeldBytes& replies() { return replies_; }
  ClientCounters& counters() { return counters_; }
  /// Counts an error that a protocol sends without Handle. `endpoint` is null if it is not known.
  /// May be called on any thread.
  void CountRefusal(const Endpoint* endpoint, const ClientId& client, const proto::Error& error);

 private:
  class ReplySink;

  /// Requests with more bytes than this are tokenized by `preparing_`. Small, because the items of
  /// a request may each be tokenized together with its query.
  static constexpr std::size_t kShortBytes = std::size_t{1} << 10;
  /// Upper bound on the memory that tokenizing takes for each byte of a request: a token id.
  static constexpr std::int64_t kTokenBytes = 4;

  void Read(std::size_t bytes, const Parse& parse, const std::optional<proto::Error>& refusal,
            const std::shared_ptr<PendingRequest>& pending, const Begun& begun,
            const Replied& replied);
  void Prepare(std::size_t bytes, const RequestService::Request& request, const Begun& begun);

  RequestService& service_;
  boost::asio::any_io_executor executor_;
  HeldBytes& requests_;
  ClientCounters counters_;
  HeldBytes replies_;  ///< Replies to all clients, counted from the arrival of their requests on.

  std::mutex mutex_;
  std::condition_variable sink_gone_;
  std::size_t sinks_ = 0;  ///< Sinks that still wait for their response.

  PatientPool parsing_;
  FairPool preparing_;
  FairPool replying_;
};

}  // namespace scorecast::coordinator

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/thread_pool.hpp>

#include "coordinator/endpoints/endpoint.h"
#include "coordinator/endpoints/held_bytes.h"
#include "coordinator/endpoints/request_service.h"
#include "coordinator/schedule/job.h"
#include "coordinator/schedule/scheduler.h"
#include "coordinator/transports/connection/client_counters.h"
#include "coordinator/transports/connection/pending_request.h"
#include "coordinator/transports/connection/reply_format.h"

namespace scorecast::coordinator {

/// A request as a protocol parses it.
struct IncomingRequest {
  std::shared_ptr<ReplyFormat> format;
  const Endpoint* endpoint = nullptr;  ///< Null if the request names none; `parsed` says why.
  ParsedRequest parsed;
};

/// Turns requests into the bytes of their replies: the part of a transport that needs no socket.
/// Long requests are parsed, and long responses formed, on a thread of their own, so that they do
/// not delay other clients.
class RequestHandler {
 public:
  /// Replies are formed on `executor`, which outlives the last of them. `max_reply_bytes` bounds
  /// the replies of all clients: see SocketOptions::max_held_bytes.
  RequestHandler(RequestService& service, boost::asio::any_io_executor executor,
                 std::int64_t max_reply_bytes);
  /// See WaitIdle.
  ~RequestHandler() { WaitIdle(); }

  /// Called once, on any thread. Owns the bytes of the request, and counts them as held.
  using Parse = std::function<IncomingRequest(const RequestService&)>;
  /// Called on any thread, for each reply in order. Not called any more once the client has left.
  using Replied = std::function<void(Reply)>;
  /// Called once, on any thread, when the request has been parsed and its response, if it is still
  /// to be computed, counts in the replies of `pending`.
  using Begun = std::function<void()>;

  /// `bytes` is the size of the request, whose first byte came at `arrived`.
  void Handle(std::size_t bytes, Clock::time_point arrived, Parse parse,
              std::shared_ptr<PendingRequest> pending, const Begun& begun, const Replied& replied);

  /// Drops what still waits to be computed for clients that have left.
  void Cancel(std::vector<Scheduler::Ticket> tickets) { service_.Cancel(std::move(tickets)); }

  /// Returns when every request is handled and every response is ready. No request may be handled
  /// afterwards. Waits for the requests of every transport of the service, so the service must be
  /// draining, or no other transport may begin requests any more.
  void WaitIdle();

  HeldBytes& replies() { return replies_; }
  ClientCounters& counters() { return counters_; }

 private:
  void Begin(const Parse& parse, Clock::time_point arrived,
             const std::shared_ptr<PendingRequest>& pending, const Replied& replied);

  RequestService& service_;
  boost::asio::any_io_executor executor_;
  ClientCounters counters_;
  HeldBytes replies_;  ///< Replies to all clients, counted from the arrival of their requests on.
  boost::asio::thread_pool long_thread_{1};
};

}  // namespace scorecast::coordinator

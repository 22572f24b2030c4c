#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/thread_pool.hpp>

#include "coordinator/endpoints/held_bytes.h"
#include "coordinator/endpoints/request_service.h"
#include "coordinator/schedule/job.h"
#include "coordinator/schedule/scheduler.h"
#include "coordinator/transports/socket/pending_request.h"

namespace scorecast::coordinator {

/// Turns messages into the frames of their replies: the part of the transport that needs no socket.
/// Long messages are read, and long responses formed, on a thread of their own, so that they do not
/// delay other clients.
class RequestHandler {
 public:
  /// Replies are formed on `executor`, which outlives the last of them. `max_reply_bytes` bounds
  /// the replies of all clients: see SocketOptions::max_held_bytes.
  RequestHandler(RequestService& service, boost::asio::any_io_executor executor,
                 std::int64_t max_reply_bytes);
  /// See WaitIdle.
  ~RequestHandler() { WaitIdle(); }

  /// Called on any thread, for each reply in order. Not called any more once the client has left.
  using Replied = std::function<void(Reply)>;
  /// Called once, on any thread, when the message has been parsed and its response, if it is still
  /// to be computed, counts in the replies of `pending`.
  using Begun = std::function<void()>;

  /// `held` counts the bytes of the message itself.
  void Handle(std::string message, Held held, std::shared_ptr<PendingRequest> pending,
              const Begun& begun, const Replied& replied);

  /// Drops what still waits to be computed for clients that have left.
  void Cancel(std::vector<Scheduler::Ticket> tickets) { service_.Cancel(std::move(tickets)); }

  /// Returns when every message is handled and every response is ready. No message may be handled
  /// afterwards. Waits for the requests of every transport of the service, so the service must be
  /// draining, or no other transport may begin requests any more.
  void WaitIdle();

  HeldBytes& replies() { return replies_; }

 private:
  void Begin(const std::string& message, Clock::time_point arrived,
             const std::shared_ptr<PendingRequest>& pending, const Replied& replied);

  RequestService& service_;
  boost::asio::any_io_executor executor_;
  HeldBytes replies_;  ///< Replies to all clients, counted from the arrival of their requests on.
  boost::asio::thread_pool long_thread_{1};
};

}  // namespace scorecast::coordinator

#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/thread_pool.hpp>

#include "coordinator/doors/score_service.h"
#include "coordinator/socket/held_bytes.h"
#include "proto/base/error.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {

/// A v1::Response as a frame.
struct Reply {
  std::string frame;
  Held held;
};

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

/// From a message to its answer's frame, through the door that the message names: all but the
/// socket. Long messages are read, and long answers formed, on a thread of their own, so that they
/// keep no other client waiting.
class RequestHandler {
 public:
  /// Answers are formed on `executor`, which outlives the service's last answer. `max_answer_bytes`
  /// bounds those of all clients: see SocketOptions::max_held_bytes.
  RequestHandler(ScoreService& service, boost::asio::any_io_executor executor,
                 std::int64_t max_answer_bytes);
  /// See WaitIdle.
  ~RequestHandler() { WaitIdle(); }

  /// Called once, on any thread, unless the sender has left.
  using Replied = std::function<void(Reply)>;
  /// Called once, on any thread: the message was read, and the answer, if it is still to be
  /// computed, counts in `pending`'s answers.
  using Begun = std::function<void()>;

  /// `held`: the message's own bytes.
  void Handle(std::string message, Held held, std::shared_ptr<PendingRequest> pending,
              const Begun& begun, const Replied& replied);

  /// Returns when every message is handled and the service has answered. Afterwards none may come.
  void WaitIdle();

  void StartDraining() { draining_ = true; }
  bool draining() const { return draining_; }

  HeldBytes& answers() { return answers_; }

 private:
  /// Messages and answers that are longer than this are long.
  static constexpr std::size_t kLongBytes = std::size_t{64} << 10;

  void Begin(const std::string& message, Clock::time_point arrived,
             const std::shared_ptr<PendingRequest>& pending, const Replied& replied);
  void Score(std::uint64_t request_id, const v1::ScoreRequest& message, Clock::time_point arrived,
             const std::shared_ptr<PendingRequest>& pending, const Replied& replied);

  ScoreService& service_;
  boost::asio::any_io_executor executor_;
  std::atomic<bool> draining_ = false;  ///< New requests get a 503.
  HeldBytes answers_;                   ///< Of all clients, from their requests' arrival on.
  boost::asio::thread_pool long_ones_{1};
};

}  // namespace scorecast::coordinator

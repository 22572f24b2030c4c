#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/thread_pool.hpp>

#include "coordinator/endpoints/chunked/chunked_service.h"
#include "coordinator/endpoints/score/score_service.h"
#include "coordinator/schedule/scheduler.h"
#include "coordinator/endpoints/held_bytes.h"
#include "coordinator/transports/socket/pending_request.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {

/// What requests are asked of. All queue with the one scheduler.
struct Services {
  ScoreService& score;
  ChunkedService& chunked;
  Scheduler& scheduler;
};

/// From a message to its answer's frames, through the door that the message names: all but the
/// socket. Long messages are read, and long answers formed, on a thread of their own, so that they
/// keep no other client waiting.
class RequestHandler {
 public:
  /// Answers are formed on `executor`, which outlives the services' last answer. `max_answer_bytes`
  /// bounds those of all clients: see SocketOptions::max_held_bytes.
  RequestHandler(const Services& services, boost::asio::any_io_executor executor,
                 std::int64_t max_answer_bytes);
  /// See WaitIdle.
  ~RequestHandler() { WaitIdle(); }

  /// Called on any thread, in order, up to the last reply; no more once the sender has left.
  using Replied = std::function<void(Reply)>;
  /// Called once, on any thread: the message was read, and the answer, if it is still to be
  /// computed, counts in `pending`'s answers.
  using Begun = std::function<void()>;

  /// `held`: the message's own bytes.
  void Handle(std::string message, Held held, std::shared_ptr<PendingRequest> pending,
              const Begun& begun, const Replied& replied);

  /// Drops what waits of those who have left.
  void Cancel(std::vector<Scheduler::Ticket> tickets) {
    services_.scheduler.Cancel(std::move(tickets));
  }

  /// Returns when every message is handled and the services have answered. Afterwards none may
  /// come.
  void WaitIdle();

  void StartDraining() { draining_ = true; }
  bool draining() const { return draining_; }

  HeldBytes& answers() { return answers_; }

 private:
  /// Messages and answers that are longer than this are long.
  static constexpr std::size_t kLongBytes = std::size_t{64} << 10;

  /// A request on its way through a door.
  struct Asked {
    std::uint64_t request_id = 0;
    Clock::time_point arrived;
    std::shared_ptr<PendingRequest> pending;
    Replied replied;
  };

  void Begin(const std::string& message, Clock::time_point arrived,
             const std::shared_ptr<PendingRequest>& pending, const Replied& replied);
  /// `Message` is one of v1::Request's doors.
  template <typename Message>
  void Serve(const Message& message, const Asked& asked);
  /// `answer` gets the service's Finish, on the computing thread.
  template <typename Answer>
  Scheduler::Ticket Ask(const ScoreRequest& request, const Asked& asked, Answer answer);
  template <typename Answer>
  Scheduler::Ticket Ask(const ChunkedRequest& request, const Asked& asked, Answer answer);

  const Services services_;
  boost::asio::any_io_executor executor_;
  std::atomic<bool> draining_ = false;  ///< New requests get a 503.
  HeldBytes answers_;                   ///< Of all clients, from their requests' arrival on.
  boost::asio::thread_pool long_ones_{1};
};

}  // namespace scorecast::coordinator

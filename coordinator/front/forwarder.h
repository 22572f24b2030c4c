#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "coordinator/front/front_queue.h"
#include "coordinator/front/front_request.h"
#include "coordinator/front/ongoing_request.h"
#include "coordinator/front/replica_choice.h"
#include "coordinator/front/replica_groups.h"
#include "coordinator/front/replica_load.h"
#include "coordinator/front/replicas.h"
#include "coordinator/schedule/clock.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {

/// Requests that wait.
struct WaitingInFront {
  std::size_t requests = 0;
  double seconds = 0;  ///< Predicted for all of them together.
};

struct ForwarderOptions {
  FrontQueueOptions queue;
  OutstandingLimit outstanding;
  /// A request that every replica refuses because it has too many is sent again after so long.
  /// Unset: the refusal is its reply.
  std::optional<std::chrono::milliseconds> refusal_pause = std::nullopt;
};

/// Takes requests to replicas, and replies back. A request waits in a FrontQueue until a replica
/// has room, goes to the one where it is predicted to end first, and to another one if that is
/// lost, is not ready any more, replies nonsense, or refuses it because it drains or is full.
///
/// So does one whose reply has begun, if it is a stream whose parts have positions, and it has
/// defaults. The other replica, which must give the same response, computes all of it again, and
/// sends what follows these positions. Another reply that has begun ends with an error.
///
/// A request may be what ends a replica. So one with which OngoingRequest::kMostLosses replicas
/// were lost gets an error, and one with which all but one of these were is a suspect: at a replica
/// where a suspect waits, no other one is sent, so that none is lost with another.
///
/// Used only on its executor, which runs one handler at a time. Owned by a std::shared_ptr.
class Forwarder : public std::enable_shared_from_this<Forwarder> {
 public:
  /// Called for each part of a reply, the last one included. May call any function of the
  /// forwarder.
  using Handler = OngoingRequest::Handler;

  Forwarder(const boost::asio::any_io_executor& executor, Replicas& replicas,
            const ForwarderOptions& options);

  /// Begins to take requests to the replicas. Called once.
  void Start();
  /// Returns the id by which the request can be cancelled. The handler is never called from inside
  /// the call.
  std::uint64_t Forward(FrontRequest request, Handler handler);
  /// The client has left: the handler is not called any more, and the replica is told. Does
  /// nothing if the reply has ended.
  void Cancel(std::uint64_t id);
  /// Drops all requests without calling their handlers. Called before the replicas are destroyed,
  /// and as the last of all calls.
  void Close();

  /// Requests whose replies have not ended.
  std::size_t in_flight() const { return requests_.size(); }
  /// Those that wait here.
  std::size_t waiting() const { return queue_.size(); }
  /// The same by model, if any wait.
  std::map<std::string, WaitingInFront> waiting_by_model() const;

 private:
  TimePerByte TimeOf(const std::string& model) const;
  UsableReplicas UsableFor(const ReplicaGroup* group) const;
  void DispatchSoon();
  /// Ends what has expired, and sends what replicas have room for.
  void Dispatch();
  /// Tells the queue which models have replicas, and moves requests whose group has become known.
  void SortByModel(Clock::time_point now);
  /// Logs which models have replicas no longer, and which have them again.
  void NoteUsable(std::set<std::string> usable);
  void Serve(const ReplicaGroup& group, Clock::time_point now);
  /// Whether none of these replicas has a request of the client's address.
  bool IsFirstOfClient(std::span<const std::shared_ptr<Replica>> usable,
                       const OngoingRequest& request) const;
  /// Of these replicas, where it may be sent now.
  std::optional<ChosenReplica> Choose(std::span<const std::shared_ptr<Replica>> usable,
                                      const OngoingRequest& request,
                                      const OutstandingLimit& limit) const;
  void SendTo(const std::shared_ptr<Replica>& replica, double seconds, std::uint64_t id,
              Clock::time_point now);
  void OnReply(std::uint64_t id, ReplicaReply reply);
  /// The replica has sent a part of the reply: if it is the first, it has room for another request.
  void NoteAnswer(std::uint64_t id, OngoingRequest& request, const v1::Response& response);
  /// Its replica was lost, or has sent a bad reply.
  void OnLost(std::uint64_t id, OngoingRequest& request, bool is_bad_reply = false);
  /// A part of its reply is none that a service gives.
  void OnBadReply(std::uint64_t id, OngoingRequest& request, const std::string& fault,
                  bool is_last);
  /// Takes back requests from replicas that are there but not ready, for example because a rank is
  /// stuck, if another one can compute them.
  void TakeBackFromStuck();
  /// Sends a request that its replica refuses to another one, or puts it back into the queue. False
  /// if the refusal is its reply.
  bool IsSentElsewhere(std::uint64_t id, OngoingRequest& request, const v1::Response& refusal);
  /// Puts a request back after ForwarderOptions::refusal_pause.
  void PutBackLater(std::uint64_t id, OngoingRequest& request);
  void LogRefusal(const Replica& replica, const v1::Response& refusal);
  void PutBack(OngoingRequest& request);
  /// Charges its client for what it has used and was not charged for. What is predicted of a
  /// request knows neither how much a compressed body has nor how long a completion runs.
  void Charge(std::uint64_t id, OngoingRequest& request);
  void Fail(std::uint64_t id, const proto::Error& error);
  void ArmTimer();

  const boost::asio::any_io_executor executor_;
  Replicas& replicas_;
  const ForwarderOptions options_;
  FrontQueue queue_;
  std::map<std::string, TimePerByte> times_;  ///< By model, of those that have replied.
  std::set<std::string> usable_;              ///< Models of which replicas can be used.
  std::set<std::string> gone_;                ///< Models of which they could, and cannot now.
  Clock::time_point refusal_logged_ = Clock::time_point::min();
  std::map<std::uint64_t, OngoingRequest> requests_;
  std::uint64_t last_id_ = 0;
  boost::asio::steady_timer timer_;
  std::optional<Clock::time_point> timer_end_;  ///< Unset if the timer does not run.
  bool will_dispatch_ = false;
  bool is_closed_ = false;
};

}  // namespace scorecast::coordinator

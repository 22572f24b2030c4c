#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/steady_timer.hpp>

#include "coordinator/front/body_pieces.h"
#include "coordinator/front/front_queue.h"
#include "coordinator/front/front_request.h"
#include "coordinator/front/replicas.h"
#include "coordinator/schedule/clock.h"
#include "proto/base/error.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {

/// One request's life in a Forwarder, from its arrival to the end of its reply.
struct OngoingRequest {
  using Handler = std::function<void(FrontReply)>;

  /// A request with which so many replicas were lost is not sent again.
  static constexpr int kMostLosses = 3;

  /// It is in no line yet: its ticket and its predicted seconds are not known.
  OngoingRequest(FrontRequest request, Handler its_handler);

  /// One more loss would be the last one: see Forwarder.
  bool IsSuspect() const { return losses + 1 >= kMostLosses; }
  /// What a replica is told of the request if it is sent now.
  v1::Forwarded ForwardedAt(Clock::time_point now) const;
  /// A part of the reply that is not the last is passed on.
  void NotePart(const v1::Response& part);
  /// The request is not at its replica any more, or its reply has begun.
  void ReleaseSuspect();

  std::string message;            ///< Serialised; empty if it cannot go on elsewhere.
  int field = 0;                  ///< Of v1::Request, in `message`.
  std::size_t bytes = 0;          ///< Of `message`.
  std::size_t body_bytes = 0;     ///< Of the body in it.
  std::vector<BodyPiece> pieces;  ///< Of its body.
  std::string model;              ///< The one that it names, then that of the line where it waits.
  WaitingRequest place;
  v1::Forwarded forwarded;  ///< What is the same whenever it is sent.
  std::optional<Clock::time_point> arrived;
  std::function<std::optional<proto::Error>(const std::string& model)> judge;
  Handler handler;
  std::shared_ptr<Replica> replica;  ///< Null while it waits.
  std::uint64_t sent_id = 0;         ///< Of ReplicaConnection::Send.
  int losses = 0;  ///< How often a replica was lost with it, or was stuck, or replied badly.
  bool is_suspect_there = false;        ///< It counts in the suspects of `replica`.
  std::vector<std::string> refused_by;  ///< Names of replicas that are too full for it.
  /// Ends when it is sent again; set if all have been too full for it.
  std::unique_ptr<boost::asio::steady_timer> pause;
  bool is_answered = false;  ///< By `replica`, which has sent a part of the reply.
  bool has_begun = false;    ///< A part of the reply has been passed on.
  /// Another replica can compute it: its reply has not begun, or can go on there.
  bool may_move = true;
  std::map<std::uint32_t, v1::StreamPosition> sent;  ///< The last ones, by output.
  std::optional<ReplicaFacts> begun_by;              ///< Those of `replica` when the reply began.
  double charged = 0;                                ///< Seconds, of its client.
};

}  // namespace scorecast::coordinator

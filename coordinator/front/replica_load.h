#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>

#include "coordinator/front/body_pieces.h"
#include "coordinator/schedule/clock.h"

namespace scorecast::coordinator {

/// How much of a front's requests may wait at one replica: so many predicted seconds, or so many
/// requests if they take longer. The replica then never has nothing to do, and all else waits in
/// the front, where every replica can still take it.
struct OutstandingLimit {
  double seconds = 0.5;
  std::size_t requests = 2;
};

/// What a front predicts of one replica, from what that says of itself and what it was sent.
///
/// Pure: told the time. Not safe for several threads.
class ReplicaLoad {
 public:
  /// The replica has said its state: the predicted seconds of the work that waits there, and
  /// whether it can be used, which it cannot while it is not ready, or drains.
  void OnStatus(double predicted_seconds, bool is_usable, Clock::time_point now);
  /// It has refused a request because it drains, which its next state will say, too.
  void OnDraining() { is_usable_ = false; }
  /// It is lost or silent: nothing is known of it any more.
  void OnLost();

  /// A request that is predicted to take `seconds` was sent.
  void OnSent(std::uint64_t id, double seconds, std::span<const BodyPiece> pieces,
              Clock::time_point now);
  /// The request waits there no longer: its reply has begun, or ended. Returns the seconds for
  /// which it kept the replica busy: since it was sent, or since the last such event if that was
  /// later. Their sum is never more than the time, however many requests are computed at once.
  double OnAnswered(std::uint64_t id, Clock::time_point now);
  /// The request was cancelled, or refused.
  void OnDropped(std::uint64_t id);

  bool is_usable() const { return is_usable_; }
  /// Predicted seconds until a request that is sent now begins: those of the last state, and those
  /// of what was sent since.
  double wait_seconds() const { return predicted_seconds_ + unseen_seconds_; }
  /// Number of requests whose replies have not begun.
  std::size_t waiting() const { return sent_.size(); }
  bool HasRoom(const OutstandingLimit& limit) const {
    return waiting() < limit.requests || wait_seconds() < limit.seconds;
  }
  const SentPieces& pieces() const { return pieces_; }

 private:
  /// A request that was sent so long before a state arrived is in it: the time of the way there
  /// and back, and the age that a state may have. If it is not, the replica gets a little more
  /// than it should.
  static constexpr auto kLag = std::chrono::milliseconds(20);

  struct Sent {
    Clock::time_point at;
    double seconds = 0;
    bool is_unseen = true;  ///< The replica's last state does not contain it.
  };

  void See(Sent& sent);

  bool is_usable_ = false;
  double predicted_seconds_ = 0;
  double unseen_seconds_ = 0;
  std::size_t unseen_ = 0;
  std::map<std::uint64_t, Sent> sent_;
  std::deque<std::uint64_t> unseen_ids_;  ///< In the order of sending; some may be gone.
  Clock::time_point last_answer_ = Clock::time_point::min();
  SentPieces pieces_;
};

}  // namespace scorecast::coordinator

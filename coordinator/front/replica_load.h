#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
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
  std::size_t most_requests = 256;  ///< However short they are.

  /// The limit for a request of a client that has no other one at any replica. A replica shares its
  /// time among clients itself, so the request waits there for less than it would for room.
  OutstandingLimit ForFirstOfClient() const { return {2 * seconds, requests + 1, most_requests}; }
};

/// What a front predicts of one replica, from what that says of itself and what it was sent.
///
/// Pure: told the time. Not safe for several threads.
class ReplicaLoad {
 public:
  /// The replica has said its state: the predicted seconds of the work that waits there, how many
  /// completions run, and whether it can be used, which it cannot while it is not ready, or drains.
  void OnStatus(double predicted_seconds, bool is_usable, Clock::time_point now,
                std::size_t running_completions = 0);
  /// It has refused a request because it drains. A state that is older may say otherwise, but a
  /// service that drains never serves again: it cannot be used until it is lost.
  void OnDraining() {
    drains_ = true;
    is_usable_ = false;
  }
  /// It has refused a request because it has too many: it has no room until its next state.
  void OnFull() { is_full_ = true; }
  /// It is lost or silent: nothing is known of it any more.
  void OnLost();

  /// A request that is predicted to take `seconds` was sent.
  void OnSent(std::uint64_t id, double seconds, std::span<const BodyPiece> pieces,
              Clock::time_point now);
  /// The request waits there no longer: its reply has begun, or ended. Returns the seconds for
  /// which it kept the replica busy: since it was sent, or since the last such event if that was
  /// later. Their sum is never more than the time, however many requests are computed at once.
  double OnAnswered(std::uint64_t id, Clock::time_point now);
  /// Seconds for which the request has kept the replica busy so far: at each moment the requests
  /// that are there share it equally. 0 if it is not there.
  double UsedBy(std::uint64_t id, Clock::time_point now);
  /// The request is over: its reply has ended, or it was cancelled or refused.
  void OnEnded(std::uint64_t id, Clock::time_point now);

  /// It gets no requests for a while, whatever it says of itself.
  void SetAside(bool is_aside) { is_aside_ = is_aside; }

  bool is_usable() const { return is_usable_ && !is_aside_; }
  /// Predicted seconds until a request that is sent now begins: those of the last state, and those
  /// of what was sent since. Completions that run do not wait, but share the passes with it.
  double wait_seconds() const {
    return predicted_seconds_ + unseen_seconds_ + kSecondsOfStream * static_cast<double>(running());
  }
  /// Number of requests whose replies have not begun.
  std::size_t waiting() const { return sent_.size(); }
  /// Number of completions that run there, as far as this front or the replica's last state knows.
  std::size_t running() const {
    return std::max(present_.size() - sent_.size(), running_completions_);
  }
  /// `least_wait` is that of all replicas. One that waits much longer gets none of the requests
  /// beyond the limit of seconds: another one has room for them sooner.
  bool HasRoom(const OutstandingLimit& limit, double least_wait) const {
    if (is_full_ || waiting() >= limit.most_requests) {
      return false;
    }
    return wait_seconds() < limit.seconds ||
           (waiting() < limit.requests && wait_seconds() <= least_wait + kMuchLonger);
  }
  /// Whether one of the requests that are there is such.
  bool HasAny(const std::function<bool(std::uint64_t id)>& is_such) const {
    return std::ranges::any_of(present_, [&](const auto& sent) { return is_such(sent.first); });
  }
  const SentPieces& pieces() const { return pieces_; }

 private:
  /// A request that was sent so long before a state arrived is in it: the time of the way there
  /// and back, and the age that a state may have. If it is not, the replica gets a little more
  /// than it should.
  static constexpr auto kLag = std::chrono::milliseconds(20);
  /// By how much a completion that runs delays a request. A guess, so that completions, whose
  /// prompts wait nowhere, are spread over replicas.
  static constexpr double kSecondsOfStream = 0.05;
  static constexpr double kMuchLonger = 1;

  struct Sent {
    Clock::time_point at;
    double seconds = 0;
    bool is_unseen = true;  ///< The replica's last state does not contain it.
  };

  void See(Sent& sent);
  /// Lets the time since the last change count for the requests that are there.
  void Advance(Clock::time_point now);

  bool is_usable_ = false;
  bool drains_ = false;
  bool is_full_ = false;
  bool is_aside_ = false;
  std::size_t running_completions_ = 0;  ///< Of all clients, by the last state.
  double predicted_seconds_ = 0;
  double unseen_seconds_ = 0;
  std::size_t unseen_ = 0;
  std::map<std::uint64_t, Sent> sent_;
  std::deque<std::uint64_t> unseen_ids_;  ///< In the order of sending; some may be gone.
  Clock::time_point last_answer_ = Clock::time_point::min();
  /// What one request has used that was there all the time, and when that was so.
  double share_ = 0;
  Clock::time_point share_at_ = Clock::time_point::min();
  /// `share_` when the request was sent, of each that is there: those in `sent_`, and those whose
  /// replies have begun.
  std::map<std::uint64_t, double> present_;
  SentPieces pieces_;
};

}  // namespace scorecast::coordinator

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "proto/mpi/communicator.h"

namespace scorecast::shard {

class RankWatch;

/// Announces the broadcast that follows it.
struct Ring {
  std::uint64_t sequence = 0;    ///< Counts rings from 1 on, so that a missed ring is noticed.
  std::uint64_t plan_bytes = 0;  ///< 0: this is the last ring, and no broadcast follows.

  bool operator==(const Ring&) const = default;
};

/// Called on a thread of the doorbell when a connection to another rank is lost before the last
/// ring. The job cannot go on, so the callback must not return.
using RankLost = std::function<void(int rank)>;

/// Exit code of a rank that ends because another rank is gone, or because an invariant is broken.
inline constexpr int kRankGoneExitCode = 70;
/// Exit code of all ranks if the watchdog ends the job.
inline constexpr int kWatchdogExitCode = 75;

/// Prints which rank is gone and ends this process, and with it the job.
[[noreturn]] void EndProcessFor(int rank);

/// Time limits of start-up.
struct HandshakeTimes {
  /// For the handshakes of all ranks together.
  std::chrono::milliseconds all_ranks = std::chrono::seconds(30);
  /// For one connection to send its hello.
  std::chrono::milliseconds hello = std::chrono::seconds(3);
};

/// Wakes idle ranks. An idle rank sleeps in poll on a socket to rank 0. In a blocking call of Open
/// MPI it would keep a core busy, because these calls spin. After a ring every rank enters the
/// broadcast that the ring announces.
///
/// If one side dies, the other notices at once, even during a pass, because a thread on each side
/// watches the connections. TCP keepalive notices a lost host after about ten seconds.
///
/// The same threads carry the ranks' reports for RankWatch. Every kReportPeriod a rank sends its
/// report to rank 0, and rank 0 sends its own report back. A rank waits for this reply before it
/// reports again, so that no connection fills up with reports if one side is stopped. If a
/// RankWatch finds that the job has to end, its rank prints why and ends with kWatchdogExitCode.
/// All ranks that it can still reach do the same.
class Doorbell {
 public:
  /// Collective. Rank 0 listens, the others connect, and both sides prove themselves with tokens
  /// that were broadcast over MPI. Throws StartupError, on every rank, if one rank's handshake
  /// fails. `watch` must outlive the doorbell; if it is null, no reports are sent.
  static std::unique_ptr<Doorbell> Connect(const proto::Communicator& group,
                                           RankWatch* watch = nullptr,
                                           RankLost rank_lost = &EndProcessFor,
                                           const HandshakeTimes& times = {});

  virtual ~Doorbell() = default;

  /// On rank 0: wakes all other ranks. A ring of 0 bytes is the last.
  virtual void RingAll(std::uint64_t plan_bytes) = 0;
  /// On the other ranks: sleeps until the next ring.
  virtual Ring Wait() = 0;
};

}  // namespace scorecast::shard

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "proto/mpi/communicator.h"

namespace scorecast::shard {

/// What a ring says: the broadcast that follows it.
struct Ring {
  std::uint64_t sequence = 0;  ///< Counts rings from 1 on, so that none can be mistaken or missed.
  std::uint64_t plan_bytes = 0;  ///< 0: the last ring; nothing follows.

  bool operator==(const Ring&) const = default;
};

/// Called on a thread of the doorbell's when another rank's end of a connection is gone before the
/// last ring: the job cannot go on. Must not return.
using RankLost = std::function<void(int rank)>;

/// Prints which rank is gone and ends this process, and with it the job.
[[noreturn]] void EndProcessFor(int rank);

/// Of start-up.
struct HandshakeTimes {
  /// For all ranks together to come through.
  std::chrono::milliseconds all_ranks = std::chrono::seconds(30);
  /// For one connection to say its hello.
  std::chrono::milliseconds hello = std::chrono::seconds(3);
};

/// How an idle rank sleeps: in poll on a socket to rank 0. (Open MPI's blocking calls spin: an idle
/// rank would burn a core.) After a ring every rank enters the broadcast that it announces.
///
/// Both sides notice the other's death at once, in a pass too, because a thread of each watches the
/// connections. A lost host is noticed by TCP keepalive after about ten seconds.
class Doorbell {
 public:
  /// Collective. Rank 0 listens, the others connect, and both prove themselves with tokens that
  /// were broadcast over MPI. StartupError, on every rank, where a rank does not come through.
  static std::unique_ptr<Doorbell> Connect(const proto::Communicator& group,
                                           RankLost rank_lost = &EndProcessFor,
                                           const HandshakeTimes& times = {});

  virtual ~Doorbell() = default;

  /// Rank 0: wakes all others. A ring of 0 bytes is the last.
  virtual void RingAll(std::uint64_t plan_bytes) = 0;
  /// The others: sleeps until the next ring.
  virtual Ring Wait() = 0;
};

}  // namespace scorecast::shard

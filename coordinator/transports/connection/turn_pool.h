#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "coordinator/schedule/client_id.h"
#include "coordinator/schedule/clock.h"
#include "coordinator/transports/connection/turn_order.h"

namespace scorecast::coordinator {

/// Threads for long work that gives way: at short intervals the work lets others go first. So work
/// waits for turns of the others', not for the whole of their work. Turns are given by TurnOrder.
///
/// Work that has given way keeps its thread, which waits for the next turn, and other work goes on
/// on another thread. Both the work under way and all work that has begun are bounded. Safe to use
/// from any thread.
class TurnPool {
 public:
  class Turn;
  using Work = std::function<void(Turn&)>;

  struct Options {
    int under_way = 1;  ///< How much work has its turn at the same time.
    /// How much work may have begun: number of threads. At least `under_way`.
    std::size_t max_begun = 64;
    /// Work that has had its turn for this long gives way.
    Clock::duration quantum = std::chrono::milliseconds(2);
    std::function<Clock::time_point()> now = Clock::now;
  };

  explicit TurnPool(Options options);
  /// See Join.
  ~TurnPool() { Join(); }

  TurnPool(const TurnPool&) = delete;
  TurnPool& operator=(const TurnPool&) = delete;

  /// The work of one connection begins in the order in which it was posted. `work` throws nothing.
  void Post(const ClientId& client, Work work);

  /// Does the work that waits, then ends the threads. Work that is posted later is dropped.
  void Join();

 private:
  using Threads = std::list<std::thread>;

  /// The work of a connection that waits for a turn.
  struct Waiting {
    std::deque<Turn*> begun;
    std::deque<Work> fresh;
  };
  /// Work whose first turn has begun, and that a thread is to take.
  struct First {
    ClientId client;
    Work work;
  };

  /// Gives turns until enough work is under way. `caller_is_free`: the calling thread takes the
  /// first piece of work that begins.
  void GiveTurns(bool caller_is_free);
  /// The turn of `turn` is over: charges its client.
  void End(Turn& turn, bool is_done);
  void GiveWay(Turn& turn);
  /// Whether a free thread can take another piece of work. If not, makes one if possible.
  bool HasThread();
  void AddThread();
  bool IsIdle() const { return order_.waiting() + order_.begun() == 0; }
  void Run(Threads::iterator self);

  const Options options_;
  const double quantum_seconds_;
  std::atomic<std::size_t> num_waiting_ = 0;  ///< That of `order_`, for a look without the lock.

  std::mutex mutex_;
  std::condition_variable has_work_;   ///< For the free threads.
  std::condition_variable all_ended_;  ///< For Join.
  TurnOrder order_;
  std::map<ClientId, Waiting> waiting_;
  std::deque<First> first_;
  int under_way_ = 0;
  std::size_t free_threads_ = 0;  ///< Those that wait for work.
  bool is_ending_ = false;
  Threads threads_;
  Threads ended_;  ///< Those that need only be joined.
};

/// The turn of a piece of work, on its thread.
class TurnPool::Turn {
 public:
  /// To be called at short intervals. Returns at once if nothing waits or the turn has been short.
  /// Otherwise others may have a turn first. The caller holds no lock.
  void GiveWay() {
    if (pool_.num_waiting_.load(std::memory_order_relaxed) > 0 &&
        pool_.options_.now() - since_ >= pool_.options_.quantum) {
      pool_.GiveWay(*this);
    }
  }
  /// The time of all turns of the work so far.
  double Seconds() const {
    return seconds_ + std::chrono::duration<double>(pool_.options_.now() - since_).count();
  }

 private:
  friend class TurnPool;

  Turn(TurnPool& pool, ClientId client) : pool_(pool), client_(std::move(client)) {}

  TurnPool& pool_;
  const ClientId client_;
  Clock::time_point since_;  ///< When the turn began.
  double seconds_ = 0;       ///< Of the turns before.
  bool is_under_way_ = true;
  std::condition_variable resumed_;
};

}  // namespace scorecast::coordinator

#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "coordinator/schedule/client_id.h"
#include "coordinator/schedule/clock.h"
#include "coordinator/schedule/queue/retry_promises.h"
#include "coordinator/transports/connection/fair_pool.h"

namespace scorecast::coordinator {

/// A FairPool of one thread at which nobody waits for ever: work whose turn does not come in time
/// is told so instead. Safe to use from any thread.
class PatientPool {
 public:
  /// Set if the turn did not come in time: seconds after which the client may come again.
  using TooLate = std::optional<std::int64_t>;
  /// Called once, and then freed: on the pool's thread when it is its turn, or on another one as
  /// soon as it is too late. Then it must be short. Throws nothing.
  using Work = std::function<void(TooLate)>;

  /// Work waits for `patience` at most.
  explicit PatientPool(Clock::duration patience);
  /// See Join.
  ~PatientPool() { Join(); }

  PatientPool(const PatientPool&) = delete;
  PatientPool& operator=(const PatientPool&) = delete;

  void Post(const ClientId& client, Work work);

  /// Does the work that waits, however long that takes, then ends the threads. Work that is posted
  /// later is dropped.
  void Join();

 private:
  /// Work until it is done or refused.
  class Turn {
   public:
    explicit Turn(Work work) : work_(std::move(work)) {}
    /// Empty from the second call on.
    Work Take();

   private:
    std::mutex mutex_;
    Work work_;
  };

  struct Waiting {
    Clock::time_point until;
    ClientId client;
    std::shared_ptr<Turn> turn;
  };

  void Do(Turn& turn);
  void Watch();

  const Clock::duration patience_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Waiting> waiting_;  ///< In the order of `until`. The turns of some have come.
  double work_seconds_ = 0;      ///< Mean time of the work that was done, the last counting most.
  RetryPromises promises_;
  bool is_ending_ = false;
  FairPool pool_{1};
  std::thread watch_;
};

}  // namespace scorecast::coordinator

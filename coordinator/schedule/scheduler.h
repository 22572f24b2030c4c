#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "coordinator/schedule/job.h"
#include "coordinator/schedule/pass_builder.h"
#include "proto/base/error.h"
#include "proto/plan/cluster.h"

namespace scorecast::coordinator {

/// The 503 of a request that comes, or still waits, while the server shuts down.
proto::Error Draining();

struct SchedulerOptions {
  /// Jobs of which nothing was computed yet; a further one is answered with a 429.
  std::size_t max_queue = std::numeric_limits<std::size_t>::max();
};

/// Packs waiting sequences into passes, one pass in flight. It has no thread of its own: a pass is
/// formed when a job comes while none is in flight, and when one ends.
///
/// Order: first come, first served, sequence by sequence; what does not fit the rest of a pass
/// waits for the next, and whoever comes later may fill that rest. (This is first fit: it makes
/// nobody later than a strict queue would.) A job that takes more than one pass as a whole stands
/// in a queue of its own, one at a time, so that passes which others wait for belong to it and to
/// the others in turns, and whoever has the turn leaves the rest of the pass to the other. A
/// sequence longer than a pass is computed in parts. None of this shows in the numbers.
///
/// Safe to call from any number of threads.
class Scheduler {
 public:
  /// `cluster` outlives the scheduler.
  explicit Scheduler(proto::Cluster& cluster, SchedulerOptions options = {})
      : cluster_(cluster), options_(options) {}
  /// Nothing may wait or be in flight: see WaitIdle.
  ~Scheduler();

  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// Names a job; kNoTicket is none's.
  using Ticket = std::uint64_t;
  static constexpr Ticket kNoTicket = 0;

  Ticket Submit(Job job);

  /// Drops those of the jobs of which something still waits: their `done` get a 499. Without effect
  /// on any other. The queue is gone through once, however many they are.
  void Cancel(std::vector<Ticket> tickets);
  /// Drops every job of which something still waits: its `done` gets a 503.
  void RefuseWaiting();

  /// Returns when less waits than a few passes compute: enough to fill the next ones, so that
  /// whoever has more to submit need not pile it up here. Not to be called from a `done`.
  void WaitForRoom();

  /// Returns when every job that was submitted is done and its `done` has returned. Not to be
  /// called from a `done`.
  void WaitIdle();
  /// The same for at most `time`; false where it passed.
  bool WaitIdleFor(Clock::duration time);

  const proto::PlanLimits& limits() const { return cluster_.limits(); }

 private:
  struct ActiveJob;
  using JobPointer = std::shared_ptr<ActiveJob>;

  /// A sequence that waits to be computed whole.
  struct Waiting {
    JobPointer job;
    std::size_t sequence = 0;
  };

  /// Where one of the plan's reads belongs.
  struct ReadTarget {
    JobPointer job;
    std::size_t sequence = 0;
    std::size_t read = 0;
  };

  /// What comes out of the lock: a pass to submit, and jobs to call back.
  struct Step {
    std::optional<proto::ForwardPlan> plan;
    std::vector<JobPointer> done;
  };

  // These are called with `mutex_` held.
  void FormPass(Step& step);
  void DropFaulty(Clock::time_point now, Step& step);
  void AddShort(PassBuilder& pass, Clock::time_point now);
  void AddLong(PassBuilder& pass, Clock::time_point now);
  bool AddWhole(PassBuilder& pass, const JobPointer& job, std::size_t sequence,
                Clock::time_point now);
  void Planned(const JobPointer& job, std::int64_t rows, Clock::time_point now);
  bool IsIdle() const;
  std::int64_t RetryAfterSeconds() const;

  // These are not.
  template <typename Condition>
  void DropWhere(Condition condition, const proto::Error& error);
  void Run(Step step);
  void PassDone(std::vector<proto::RowLogits> rows);

  proto::Cluster& cluster_;
  const SchedulerOptions options_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Waiting> short_;    ///< Sequences of jobs that fit one pass, in order of arrival.
  std::deque<JobPointer> long_;  ///< Jobs that do not; the first is being computed.
  bool long_led_last_pass_ = false;
  std::int64_t waiting_rows_ = 0;  ///< In no pass yet.
  std::size_t waiting_jobs_ = 0;   ///< Nothing of them was in a pass yet.
  Ticket next_ticket_ = kNoTicket + 1;
  double seconds_per_row_ = 0;  ///< Of recent passes; 0 before the first.

  bool in_flight_ = false;
  Clock::time_point pass_began_;
  std::int64_t pass_rows_ = 0;
  std::vector<JobPointer> riding_;     ///< Jobs with rows in flight, some more than once.
  std::vector<ReadTarget> targets_;    ///< Of the reads in flight.
  std::vector<JobPointer> completed_;  ///< One for each sequence whose last row is in flight.
  int running_ = 0;                    ///< Steps that have left the lock and not come back.
};

}  // namespace scorecast::coordinator

#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "coordinator/schedule/job.h"
#include "coordinator/schedule/pass_builder.h"
#include "proto/plan/cluster.h"

namespace scorecast::coordinator {

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
  explicit Scheduler(proto::Cluster& cluster) : cluster_(cluster) {}
  /// Nothing may wait or be in flight: see WaitIdle.
  ~Scheduler();

  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  void Submit(Job job);

  /// Returns when less waits than a few passes compute: enough to fill the next ones, so that
  /// whoever has more to submit need not pile it up here. Not to be called from a `done`.
  void WaitForRoom();

  /// Returns when every job that was submitted is done and its `done` has returned. Not to be
  /// called from a `done`.
  void WaitIdle();

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
  void DropLate(Clock::time_point now, Step& step);
  void AddShort(PassBuilder& pass, Clock::time_point now);
  void AddLong(PassBuilder& pass, Clock::time_point now);
  bool AddWhole(PassBuilder& pass, const JobPointer& job, std::size_t sequence,
                Clock::time_point now);
  void Planned(ActiveJob& job, std::int64_t rows, Clock::time_point now);

  // These are not.
  void Run(Step step);
  void PassDone(std::vector<proto::RowLogits> rows);

  proto::Cluster& cluster_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Waiting> short_;    ///< Sequences of jobs that fit one pass, in order of arrival.
  std::deque<JobPointer> long_;  ///< Jobs that do not; the first is being computed.
  bool long_led_last_pass_ = false;
  std::int64_t waiting_rows_ = 0;  ///< In no pass yet.
  std::uint64_t next_ticket_ = 0;

  bool in_flight_ = false;
  std::vector<ReadTarget> targets_;    ///< Of the reads in flight.
  std::vector<JobPointer> completed_;  ///< One for each sequence whose last row is in flight.
  int running_ = 0;                    ///< Steps that have left the lock and not come back.
};

}  // namespace scorecast::coordinator

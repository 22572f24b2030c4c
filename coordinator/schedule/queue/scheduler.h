#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "coordinator/schedule/clock.h"
#include "coordinator/schedule/job.h"
#include "coordinator/schedule/pass/pass_time_model.h"
#include "coordinator/schedule/queue/admission.h"
#include "proto/base/error.h"
#include "proto/plan/cluster.h"

namespace scorecast::coordinator {

struct ActiveJob;
struct BlockCacheCounters;
struct JobWork;
struct SchedulerStatus;
class PassPlanner;

/// The 503 of a request that arrives, or still waits, while the server shuts down.
proto::Error Draining();

/// A pass that has ended.
struct PassSummary {
  std::int64_t rows = 0;
  std::int64_t sequences = 0;
  double seconds = 0;  ///< From its forming to its end.
};

struct SchedulerOptions {
  /// Upper bound on the jobs that wait for their first pass. A further job gets a 429.
  std::size_t max_queue = std::numeric_limits<std::size_t>::max();
  /// Upper bound on the tokens of these jobs. What the sequences of a job share counts once. A
  /// further job gets a 429, unless no other waits. Also bounds their bytes: see
  /// kQueueBytesPerToken.
  /// For clients that have few of the waiting jobs, these bounds are larger: see Admission.
  std::int64_t max_queue_tokens = std::numeric_limits<std::int64_t>::max();
  /// A job that is predicted to wait longer, or beyond its deadline, gets a 429. If it is not set,
  /// no job is refused because of a prediction.
  std::optional<double> max_wait_seconds = std::nullopt;
  /// Upper bound on the pages of K/V that stay cached while no sequence uses them.
  std::int32_t cached_pages = 0;
  /// Upper bound on the predicted time of a pass, in seconds. It is soft: see Scheduler.
  double max_pass_seconds = std::numeric_limits<double>::infinity();
  /// Predicts the time of passes, from what calibration passes took. The scheduler goes on from a
  /// copy.
  PassTimeModel time_model;
  /// The current time, of jobs and passes. May be called on any thread.
  std::function<Clock::time_point()> now = [] { return Clock::now(); };
  /// Called after each pass, on the computing thread and without a lock. Must return soon.
  std::function<void(const PassSummary&)> on_pass = [](const PassSummary&) {};
};

/// Packs waiting sequences into passes, one pass in flight. It has no thread of its own: a pass is
/// formed when a job arrives while none is in flight, and when one ends.
///
/// Order: clients share the predicted time of passes, by FairQueue. Within a flow, which is jobs of
/// one connection with one priority and about one size, it is first come, first served. A sequence
/// that does not fit into the rest of a pass is among the first in the next one, and others may
/// fill that rest. Neither kind of limit of a pass is exceeded by what fills it: PlanLimits, and
/// the time of SchedulerOptions::max_pass_seconds. Only one sequence of a pass may take it beyond
/// its time.
///
/// A sequence that takes longer than a pass may is computed in parts. Those that are computed in
/// parts take turns, of a quarter of a pass, with everything else that waits. One that is alone has
/// all turns, that is the whole pass. A bidirectional text cannot be computed in parts, but in
/// steps (proto::PlanStep), each of which is a pass of its own. Several texts can be under way.
///
/// Running completions get a row each in every pass. While other rows wait, completions take at
/// most half of its rows and time. If the next sequence in line does not fit beside the running
/// completions, it goes first in the following pass. Completions therefore never give way twice in
/// a row. If not all of them fit, clients and their completions take turns.
///
/// A sequence that needs pages of its own (because it has completions, or is computed in parts or
/// in steps) begins when enough are free: see PageQueue. Sequences that need none do not wait for
/// it. If a running completion finds no free page, one is preempted: the youngest of the client
/// that was served most. It gives its pages back, and its rows are computed again when its turn
/// comes.
///
/// The tokens of completions are chosen when a pass has ended, without the lock. That counts as a
/// part of the pass.
///
/// None of this changes a score.
///
/// Safe to call from any number of threads.
class Scheduler {
 public:
  /// `cluster` outlives the scheduler.
  explicit Scheduler(proto::Cluster& cluster, SchedulerOptions options = {});
  /// No job may wait or be in flight: see WaitIdle.
  ~Scheduler();

  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  using Ticket = JobTicket;
  static constexpr Ticket kNoTicket = 0;  ///< The ticket of no job.

  /// Returns kNoTicket if the job is done already, because it is empty or refused.
  Ticket Submit(Job job);

  /// Drops those of the jobs that still have rows waiting: their `done` gets a 499. Has no effect
  /// on the others.
  void Cancel(std::vector<Ticket> tickets);

  /// Computes nothing beyond the pass in flight: every job that needs more than that pass gets a
  /// 503 `draining`, at once or, if some of its rows are in the pass, after it. So does every job
  /// that is submitted from now on.
  void StopAfterPass();

  /// Returns when no more rows wait than a few passes compute, in jobs that
  /// hold no more than 256 MiB. That is enough to fill the next passes, so a caller with many jobs
  /// need not queue all of them here. Must not be called from a `done`.
  void WaitForRoom();

  /// Returns when every job that was submitted is done and its `done` has returned. Must not be
  /// called from a `done`.
  void WaitIdle();
  /// Like WaitIdle, but waits at most `time`. False if the time ran out.
  bool WaitIdleFor(Clock::duration time);

  const proto::PlanLimits& limits() const { return cluster_.limits(); }

  BlockCacheCounters cache_counters() const;
  SchedulerStatus status() const;

 private:
  /// Work that is left until the lock is released: a pass to submit, a pass to report, and jobs to
  /// call back.
  struct Step;

  // These are called with `mutex_` held.
  /// The 429 of a job that is not admitted.
  std::optional<proto::Error> QueueFault(const ActiveJob& job, const JobWork& work,
                                         std::uint64_t digest);
  void FormPass(Step& step);
  /// Bounds the passes that are formed from now on by what the model predicts.
  void BoundPasses();
  bool IsIdle() const;

  // These are called without it.
  /// Drops the jobs to which `fail` gives an error, unless they have rows in the pass in flight.
  /// `fail` is called with the lock.
  void DropFailed(const std::function<void()>& fail);
  void Run(Step step);
  /// Chooses the next tokens of the completions in the pass, which returned these rows, on the
  /// threads that compute. That belongs to the time of the pass.
  std::vector<TokenChooser::Choice> ChooseTokens(std::span<const proto::RowLogits> rows);
  void PassDone(std::vector<proto::RowLogits> rows);

  proto::Cluster& cluster_;
  const SchedulerOptions options_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::unique_ptr<PassPlanner> planner_;
  Admission admission_;
  Ticket next_ticket_ = kNoTicket + 1;
  bool stops_ = false;     ///< StopAfterPass was called.
  int running_steps_ = 0;  ///< Steps that have left the lock and are not finished.
  Clock::time_point pass_began_;
  std::int64_t pass_sequences_ = 0;
  std::int64_t passes_ = 0;  ///< Passes that are done.
  PassTimeModel model_;
  double bound_seconds_ = 0;  ///< Upper bound on the predicted time of a pass.
};

}  // namespace scorecast::coordinator

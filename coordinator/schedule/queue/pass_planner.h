#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "coordinator/schedule/clock.h"
#include "coordinator/schedule/job.h"
#include "coordinator/schedule/pages/block_cache.h"
#include "coordinator/schedule/pages/page_ranges.h"
#include "coordinator/schedule/pass/pass_work.h"
#include "coordinator/schedule/pass/sequence_run.h"
#include "coordinator/schedule/queue/active_job.h"
#include "coordinator/schedule/queue/expected_pages.h"
#include "coordinator/schedule/queue/fair_queue.h"
#include "coordinator/schedule/queue/job_measure.h"
#include "coordinator/schedule/queue/page_queue.h"
#include "coordinator/schedule/queue/predicted_wait.h"
#include "coordinator/schedule/queue/running_completions.h"
#include "coordinator/schedule/queue/scheduler_status.h"
#include "coordinator/schedule/queue/waiting_jobs.h"
#include "proto/plan/forward_plan.h"
#include "proto/plan/row_logits.h"

namespace scorecast::coordinator {

class PartTurns;
class PassBuilder;

/// Decides what goes into each pass: holds the queues of jobs and the page cache, forms one pass at
/// a time, and hands what it returns to the jobs. The order is described at Scheduler.
///
/// Not safe for several threads.
class PassPlanner {
 public:
  /// `limits` outlives the planner.
  PassPlanner(const proto::PlanLimits& limits, std::int32_t cached_pages);

  PassPlanner(const PassPlanner&) = delete;
  PassPlanner& operator=(const PassPlanner&) = delete;

  /// Bounds the passes that are formed from now on.
  void SetBudget(const PassBudget& budget) { budget_ = budget; }

  /// See JobMeasure::Measure.
  JobWork Measure(const JobPointer& job) const { return measure_.Measure(job); }
  /// Queues a job, which has sequences and the largest ticket so far. `work` is that of Measure.
  void Add(const JobPointer& job, const JobWork& work);

  // For Admission, of a job with this path and work. The scheduler sets the time of the pass in
  // flight.
  JobForecast ForecastFor(const FairPath& path, const JobWork& work) const;
  QueueForecast ForecastFor(const FairPath& path) const;
  /// The same as if all that waits came before the job. Never shorter, and computed faster.
  QueueForecast LongestForecast() const;

  /// Gives an error to the jobs with these tickets, which are sorted. A job gets none if its last
  /// rows are in the pass in flight. The others are dropped: see TakeDropped. A job keeps its first
  /// error.
  void Fail(std::span<const JobTicket> tickets, const proto::Error& error);
  /// The same for all jobs.
  void FailAll(const proto::Error& error);
  /// Removes jobs that have an error from the queues, and returns them. A job with rows in the pass
  /// in flight stays until that pass is over.
  std::vector<JobPointer> TakeDropped(Clock::time_point now);

  /// Forms the next pass. Returns nothing if no rows wait. No pass may be in flight.
  std::optional<proto::ForwardPlan> FormPass(Clock::time_point now);
  /// The completions whose tokens are chosen from `rows`, which the pass in flight has returned.
  /// Changes nothing, so other threads may call what is const at the same time.
  std::vector<SequenceRun::RowOfCompletion> RowsOfCompletions(
      std::span<const proto::RowLogits> rows) const;
  /// The pass in flight has returned `rows`, and each of RowsOfCompletions has this choice. Returns
  /// the jobs that are done.
  std::vector<JobPointer> PassDone(std::span<proto::RowLogits> rows,
                                   std::span<const TokenChooser::Choice> choices,
                                   Clock::time_point now);
  bool is_pass_in_flight() const { return !in_pass_.empty(); }
  std::size_t sequences_in_pass() const { return in_pass_.size(); }
  /// What the pass that was formed last computes.
  const PassWork& pass_work() const { return pass_work_; }
  /// Whether that pass is a step of a text.
  bool is_step() const { return is_step_; }

  bool is_queue_empty() const { return queue_.empty() && running_.empty(); }
  /// Sets the fields of `status` that the planner knows, which are all but those about passes.
  void AddStatus(SchedulerStatus& status, Clock::time_point now) const;
  /// Prompt rows that were in no pass yet.
  std::int64_t waiting_rows() const { return waiting_rows_; }
  /// The jobs that have no row in any pass yet.
  const WaitingClients& waiting_clients() const { return waiting_clients_; }
  std::size_t waiting_jobs() const { return waiting_since_.size(); }
  /// Bytes of all unfinished jobs and of those of their results that are computed.
  std::int64_t bytes() const { return bytes_; }

  BlockCache& cache() { return cache_; }
  const BlockCache& cache() const { return cache_; }

 private:
  using Outcome = SequenceRun::Outcome;

  /// Upper bound on the time that a client may save up.
  double Credit() const;
  /// See QueueForecast::speed.
  double Speed() const;
  /// The job has a row in a pass, or is dropped before: it no longer waits for its first pass.
  void EndWaiting(const ActiveJob& job);
  void Fail(const JobPointer& job, const proto::Error& error);
  /// Calls `function` for the sequences that have completions and are not in the queue, some of
  /// them twice.
  template <typename Function>
  void ForEachCompletion(Function function) const;
  /// Removes a job that has no row in the pass in flight, except from the running completions.
  void Drop(ActiveJob& job, Clock::time_point now);
  void Enqueue(const SequenceRef& ref, const PassWork& left);
  void Dequeue(const SequenceRef& ref);
  /// Counts work that dropped sequences shared with others as work of those.
  void CountLeftOverWork();

  /// Fills the pass in fair order. False if the first sequence that need not wait for pages found
  /// no room.
  bool AddWaiting(PassBuilder& pass, Clock::time_point now);
  /// Adds the sequence that is next, or gives it a turn.
  Outcome AddNext(PassBuilder& pass, const SequenceRef& ref, PartTurns& turns,
                  Clock::time_point now);
  Outcome AddWhole(PassBuilder& pass, const SequenceRef& ref, Clock::time_point now);
  /// Adds the next step of a text that is computed in steps. With the first one, it takes pages in
  /// the buffers for texts.
  Outcome AddStep(PassBuilder& pass, const SequenceRef& ref, Clock::time_point now);
  Outcome AddTurn(PassBuilder& pass, const SequenceRef& ref, PartTurns& turns);
  /// Adds the parts to the pass.
  void AddParts(PartTurns& turns, Clock::time_point now);
  /// Adds the next rows of running completions, at most `max_rows` and about `max_seconds`.
  void AddCompletions(PassBuilder& pass, std::int64_t max_rows, double max_seconds,
                      Clock::time_point now);
  void RecordAdded(const SequenceRef& ref, Clock::time_point now);
  /// Gives a text that has not begun its pages in the buffers for texts. False if too few that
  /// follow each other are free for it.
  bool TakeTextPages(ActiveSequence& state);
  /// The sequence is done or dropped: it needs no pages any more.
  void EndPages(const FairQueue::Entry& entry, ActiveSequence& state);

  AddressTags TagsOf(const SequenceRef& ref) const {
    return queue_.TagsOf(ref.job->path).of_address();
  }
  bool MustWaitForPages(const SequenceRef& ref);
  /// Pages that must be left when the sequence begins.
  std::int64_t SparePages(const SequenceRef& ref) const;
  /// Whether AddWhole certainly finds no room for a sequence that has no run yet, or AddStep for
  /// the next step of a text.
  bool IsTooLarge(const SequenceRef& ref, const PassBuilder& pass) const;
  /// Preempts a running sequence that is not in the pass, which may be the one that needs the
  /// pages. False if there is none.
  bool Preempt();
  /// The same for a sequence that has begun, is in the queue, and has completions: it may need more
  /// pages than it took when it began.
  bool PreemptQueued();

  const proto::PlanLimits& limits_;
  PassBudget budget_;
  BlockCache cache_;
  ExpectedPages expected_;  ///< Of what is in the queue, if anything is cached.
  FairQueue queue_;
  std::map<FairQueue::Entry, SequenceRef> waiting_;  ///< What is in the queue.
  RunningCompletions running_;
  PageQueue pages_;
  JobMeasure measure_;
  WaitingClients waiting_clients_;
  std::map<JobTicket, Clock::time_point> waiting_since_;  ///< When these jobs were submitted.
  std::vector<SequenceRef> in_pass_;  ///< Sequences in the pass in flight, in order of their reads.
  PageRanges text_pages_;             ///< Of the buffers for texts.
  PassWork pass_work_;
  bool is_step_ = false;
  std::uint64_t passes_ = 0;                ///< Passes that were formed.
  bool completions_give_way_ = false;       ///< The next pass is first filled with other rows.
  std::map<JobTicket, JobPointer> failed_;  ///< Unfinished jobs that have an error.
  std::int64_t waiting_rows_ = 0;
  std::int64_t jobs_ = 0;  ///< Unfinished jobs.
  std::int64_t bytes_ = 0;
};

}  // namespace scorecast::coordinator

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "coordinator/schedule/active_job.h"
#include "coordinator/schedule/block_cache.h"
#include "coordinator/schedule/job.h"
#include "coordinator/schedule/scheduler_status.h"
#include "coordinator/schedule/sequence_run.h"
#include "coordinator/schedule/waiting_jobs.h"
#include "proto/plan/forward_plan.h"
#include "proto/plan/row_logits.h"

namespace scorecast::coordinator {

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

  /// Queues a job, which has sequences and the largest ticket so far.
  void Add(const JobPointer& job);

  /// Removes jobs that have an error from the queues, and returns them. A job with rows
  /// in the pass in flight stays until that pass is over.
  std::vector<JobPointer> TakeDropped(Clock::time_point now);

  /// Forms the next pass. Returns nothing if no rows wait. No pass may be in flight.
  std::optional<proto::ForwardPlan> FormPass(Clock::time_point now);
  /// The pass in flight has returned `rows`. Returns the jobs that are done.
  std::vector<JobPointer> PassDone(std::span<proto::RowLogits> rows, Clock::time_point now);
  bool is_pass_in_flight() const { return !in_pass_.empty(); }
  std::size_t sequences_in_pass() const { return in_pass_.size(); }

  /// Calls `visit` with every job that has more to compute than what is in the pass in flight. A
  /// job may be visited more than once.
  void ForEachUnfinished(const std::function<void(ActiveJob&)>& visit) const;

  bool is_queue_empty() const { return waiting_.empty() && long_.empty() && running_.empty(); }
  /// Sets the fields of `status` that the planner knows, which are all but those about passes.
  void AddStatus(SchedulerStatus& status, Clock::time_point now) const;
  std::int64_t waiting_rows() const { return waiting_rows_; }
  std::size_t waiting_jobs() const { return waiting_since_.size(); }
  /// The jobs that have no row in any pass yet.
  const WaitingClients& waiting_clients() const { return waiting_clients_; }
  /// Bytes of all unfinished jobs and of those of their results that are computed.
  std::int64_t bytes() const { return bytes_; }

  BlockCache& cache() { return cache_; }
  const BlockCache& cache() const { return cache_; }

 private:
  /// Sequences [next, end) of a job that needs several passes. They are computed one after the
  /// other.
  struct LongJob {
    JobPointer job;
    std::size_t next = 0;
    std::size_t end = 0;
  };

  // AddWaiting and AddLong return false if the first sequence that need not wait for pages found no
  // room in the pass.
  bool AddWaiting(PassBuilder& pass, Clock::time_point now);
  bool AddLong(PassBuilder& pass, Clock::time_point now);
  /// Adds the next rows of running completions, at most `max_rows`.
  void AddCompletions(PassBuilder& pass, std::int64_t max_rows, Clock::time_point now);
  /// Adds sequences of a long job from the next one on. Returns the outcome of the first.
  SequenceRun::Outcome AddInTurn(PassBuilder& pass, LongJob& long_job, Clock::time_point now);
  SequenceRun::Outcome AddWhole(PassBuilder& pass, const SequenceRef& ref, Clock::time_point now);
  SequenceRun::Outcome AddPart(PassBuilder& pass, const SequenceRef& ref, std::int64_t max_rows,
                               Clock::time_point now);
  SequenceRun& RunOf(const SequenceRef& ref) {
    return ref.job->RunOf(ref.sequence, cache_, limits_);
  }
  /// The job has a row in a pass, or is dropped before: it no longer waits for its first pass.
  void EndWaiting(const ActiveJob& job);
  void RecordOutcome(const SequenceRef& ref, SequenceRun::Outcome outcome, Clock::time_point now);
  void RecordAdded(const SequenceRef& ref, Clock::time_point now);
  bool MustWaitForPages(const SequenceRef& ref) const;
  /// Whether AddWhole certainly finds no room for a sequence that has no run yet.
  bool IsTooLarge(const SequenceRef& ref, const PassBuilder& pass) const;
  /// Preempts the youngest running sequence that is not in the pass, which may be the one that
  /// needs the pages. False if there is none.
  bool PreemptYoungest();
  void Requeue(const SequenceRef& ref);

  const proto::PlanLimits& limits_;
  BlockCache cache_;
  std::deque<SequenceRef> waiting_;   ///< Sequences of jobs that fit one pass, in arrival order.
  std::deque<LongJob> long_;          ///< Jobs that do not. The first one may have begun.
  std::vector<SequenceRef> running_;  ///< Sequences that generate completions, in arrival order.
  std::vector<SequenceRef> in_pass_;  ///< Sequences in the pass in flight, in order of their reads.
  std::optional<JobTicket> page_waiter_;  ///< The oldest job that found no pages to begin with.
  bool long_led_last_pass_ = false;
  bool completions_give_way_ = false;  ///< The next pass is first filled with other rows.
  std::int64_t waiting_rows_ = 0;      ///< Prompt rows that were in no pass yet.
  /// When jobs without a row in any pass yet were submitted.
  std::map<JobTicket, Clock::time_point> waiting_since_;
  WaitingClients waiting_clients_;  ///< What these hold.
  std::int64_t bytes_ = 0;
};

}  // namespace scorecast::coordinator

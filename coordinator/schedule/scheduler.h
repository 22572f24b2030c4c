#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "coordinator/schedule/block_cache.h"
#include "coordinator/schedule/capacity.h"
#include "coordinator/schedule/job.h"
#include "coordinator/schedule/pass_builder.h"
#include "coordinator/schedule/sequence_run.h"
#include "proto/base/error.h"
#include "proto/plan/cluster.h"

namespace scorecast::coordinator {

/// The 503 of a request that comes, or still waits, while the server shuts down.
proto::Error Draining();

struct SchedulerOptions {
  /// Jobs of which nothing was computed yet; a further one is answered with a 429.
  std::size_t max_queue = std::numeric_limits<std::size_t>::max();
  /// Pages of K/V that may stay cached, of those that the cluster has room for.
  std::int32_t cached_pages = 0;
};

/// Packs waiting sequences into passes, one pass in flight. It has no thread of its own: a pass is
/// formed when a job comes while none is in flight, and when one ends.
///
/// Order: first come, first served, sequence by sequence; what does not fit the rest of a pass
/// waits for the next, and whoever comes later may fill that rest. (This is first fit: it makes
/// nobody later than a strict queue would.) A job that takes more than one pass as a whole stands
/// in a queue of its own, one at a time, so that passes which others wait for belong to it and to
/// the others in turns, and whoever has the turn leaves the rest of the pass to the other. A
/// sequence longer than a pass is computed in parts.
///
/// Answers that are being generated go on with every pass, in half of its rows at most while others
/// wait: a row each. Where the one whose turn it is does not fit beside them, the next pass is his
/// first, so that answers never lose two in a row. What needs pages of its own (an answer, a
/// sequence longer than a pass) begins when they are free, in order of arrival; what needs none
/// does not wait for it. An answer that finds none free makes the youngest one give its pages back,
/// which is computed again when its turn comes.
///
/// None of this shows in the numbers.
///
/// Safe to call from any number of threads.
class Scheduler {
 public:
  /// `cluster` outlives the scheduler.
  explicit Scheduler(proto::Cluster& cluster, SchedulerOptions options = {});
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

  BlockCacheCounters cache_counters() const;

 private:
  struct ActiveJob;
  using JobPointer = std::shared_ptr<ActiveJob>;

  /// A sequence of a job: one that waits to be computed whole, or whose answers are generated.
  struct OfJob {
    JobPointer job;
    std::size_t sequence = 0;

    SequenceRun& run() const;
    Ticket ticket() const;
  };

  /// Sequences [next, end) of a job that are computed one after the other.
  struct Long {
    JobPointer job;
    std::size_t next = 0;
    std::size_t end = 0;
  };

  /// What comes out of the lock: a pass to submit, and jobs to call back.
  struct Step {
    std::optional<proto::ForwardPlan> plan;
    std::vector<JobPointer> done;
  };

  // These are called with `mutex_` held.
  void FormPass(Step& step);
  void DropFaulty(Clock::time_point now, Step& step);
  // These are false where the first that need not wait for pages found no room in the pass.
  bool AddShort(PassBuilder& pass, Clock::time_point now);
  bool AddLong(PassBuilder& pass, Clock::time_point now);
  void AddAnswers(PassBuilder& pass, std::int64_t most_rows, Clock::time_point now);
  /// Sequences of `work` from the next one on. What became of the first of them.
  SequenceRun::Outcome AddInTurn(PassBuilder& pass, Long& work, Clock::time_point now);
  SequenceRun::Outcome AddWhole(PassBuilder& pass, const OfJob& of, Clock::time_point now);
  SequenceRun::Outcome AddPart(PassBuilder& pass, const OfJob& of, std::int64_t most_rows,
                               Clock::time_point now);
  bool MustWaitForPages(const OfJob& of) const;
  void NoteOutcome(const OfJob& of, SequenceRun::Outcome outcome);
  /// Gives back the pages of the youngest that generates an answer and is not in this pass, be it
  /// the one that wants them. False where there is none.
  bool PreemptTheYoungest();
  void Requeue(const OfJob& of);
  void Planned(const OfJob& of, Clock::time_point now);
  void NoteSpeed(Clock::time_point now);
  void AfterPass(const OfJob& of, Clock::time_point now, Step& step);
  bool IsIdle() const;
  std::int64_t RetryAfterSeconds() const;

  // These are not.
  template <typename Condition>
  void DropWhere(Condition condition, const proto::Error& error);
  void Run(Step step);
  void PassDone(std::vector<proto::RowLogits> rows);

  proto::Cluster& cluster_;
  const SchedulerOptions options_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  BlockCache cache_;
  std::deque<OfJob> short_;        ///< Sequences of jobs that fit one pass, in order of arrival.
  std::deque<Long> long_;          ///< Jobs that do not; the first that can is being computed.
  std::vector<OfJob> generating_;  ///< In order of their beginning.
  std::optional<Ticket> page_waiter_;  ///< The oldest that found no pages to begin with.
  bool long_led_last_pass_ = false;
  bool answers_give_way_ = false;  ///< In the next pass: in the last one they were in the way.
  std::int64_t waiting_rows_ = 0;  ///< In no pass yet.
  std::size_t waiting_jobs_ = 0;   ///< Nothing of them was in a pass yet.
  Ticket next_ticket_ = kNoTicket + 1;
  double seconds_per_row_ = 0;  ///< Of recent passes; 0 before the first.

  bool in_flight_ = false;
  Clock::time_point pass_began_;
  std::int64_t pass_rows_ = 0;
  std::vector<OfJob> riding_;  ///< With rows in flight, in the order of their reads.
  int running_ = 0;            ///< Steps that have left the lock and not come back.
};

}  // namespace scorecast::coordinator

#include "coordinator/schedule/pass_planner.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "coordinator/schedule/capacity.h"
#include "coordinator/schedule/pass_builder.h"
#include "proto/base/check.h"

namespace scorecast::coordinator {

using proto::Check;
using Outcome = SequenceRun::Outcome;

namespace {

/// While other rows wait, running completions first get one row in kCompletionsShare of a pass.
constexpr std::int64_t kCompletionsShare = 2;

/// Upper bound on the sequences that are looked up in the cache for one pass and then do not fit
/// it.
constexpr int kMaxFailedLookups = 32;

proto::Error DeadlinePassed() {
  return {504, "deadline_passed", "The request's deadline passed before all of it was computed.",
          "timeout_ms"};
}

/// Inserts after the sequences of the same job and of earlier jobs.
template <typename Queue>
void InsertByArrival(const SequenceRef& ref, Queue& queue) {
  queue.insert(std::upper_bound(queue.begin(), queue.end(), ref,
                                [](const SequenceRef& a, const SequenceRef& b) {
                                  return a.ticket() < b.ticket();
                                }),
               ref);
}

}  // namespace

PassPlanner::PassPlanner(const proto::PlanLimits& limits, std::int32_t cached_pages)
    : limits_(limits), cache_(limits.kept_kv_rows / proto::kKvPageRows, cached_pages) {}

void PassPlanner::Add(const JobPointer& job) {
  ++waiting_jobs_;
  waiting_rows_ += job->cost.rows;
  const std::size_t sequences = job->runs.size();
  if (!FitsPass(job->cost, limits_)) {
    long_.push_back({job, 0, sequences});
    return;
  }
  for (std::size_t i = 0; i < sequences; ++i) {
    waiting_.push_back({job, i});
  }
}

void PassPlanner::ForEachUnfinished(const std::function<void(ActiveJob&)>& visit) const {
  for (const SequenceRef& ref : waiting_) {
    visit(*ref.job);
  }
  for (const LongJob& long_job : long_) {
    visit(*long_job.job);
  }
  for (const SequenceRef& ref : running_) {
    visit(*ref.job);
  }
  for (const SequenceRef& ref : in_pass_) {
    if (ref.run().has_active_completions()) {
      visit(*ref.job);
    }
  }
}

std::vector<JobPointer> PassPlanner::TakeDropped(Clock::time_point now) {
  std::vector<JobPointer> dropped;
  const auto drop = [&](const JobPointer& job) {
    if (!job->error && job->is_late(now)) {
      job->error = DeadlinePassed();
    }
    if (!job->error || job->is_in_pass()) {
      return false;
    }
    if (!job->is_dropped) {
      job->is_dropped = true;
      job->finished = now;
      job->runs.clear();
      waiting_rows_ -=
          std::accumulate(job->waiting_rows.begin(), job->waiting_rows.end(), std::int64_t{0});
      waiting_jobs_ -= job->started ? 0 : 1;
      if (page_waiter_ == job->ticket) {
        page_waiter_.reset();
      }
      dropped.push_back(job);
    }
    return true;
  };
  std::erase_if(waiting_, [&](const SequenceRef& ref) { return drop(ref.job); });
  std::erase_if(long_, [&](const LongJob& long_job) { return drop(long_job.job); });
  std::erase_if(running_, [&](const SequenceRef& ref) { return drop(ref.job); });
  return dropped;
}

std::optional<proto::ForwardPlan> PassPlanner::FormPass(Clock::time_point now) {
  const bool others_wait = !waiting_.empty() || !long_.empty();
  if (!others_wait && running_.empty()) {
    return std::nullopt;
  }
  const bool long_leads =
      !long_.empty() &&
      (waiting_.empty() ||
       (long_.front().job->ticket < waiting_.front().ticket() && !long_led_last_pass_));
  cache_.SetAwaited(page_waiter_.has_value());
  PassBuilder pass(limits_);
  if (!completions_give_way_) {
    const std::int64_t share = std::max<std::int64_t>(pass.rows() / kCompletionsShare, 1);
    AddCompletions(pass, others_wait ? share : pass.rows(), now);
  }
  const bool has_completions_first = !pass.empty();
  bool found_room = true;
  if (long_leads) {
    found_room = AddLong(pass, now);
    AddWaiting(pass, now);
  } else {
    found_room = AddWaiting(pass, now);
    AddLong(pass, now);
  }
  AddCompletions(pass, pass.rows(), now);
  completions_give_way_ = has_completions_first && !found_room;
  if (!completions_give_way_) {
    long_led_last_pass_ = long_leads;
  }
  Check(!pass.empty(), "the first rows that wait fit an empty pass");
  return std::move(pass).Take();
}

bool PassPlanner::AddWaiting(PassBuilder& pass, Clock::time_point now) {
  std::deque<SequenceRef> still_waiting;
  std::optional<Outcome> first;
  int failed_lookups = 0;
  for (SequenceRef& ref : waiting_) {
    auto outcome = Outcome::kNoRoom;
    if (MustWaitForPages(ref)) {
      outcome = Outcome::kNoPages;
    } else if (!pass.full() && (failed_lookups < kMaxFailedLookups || !cache_.is_enabled())) {
      outcome = AddWhole(pass, ref, now);
      failed_lookups += outcome == Outcome::kAdded ? 0 : 1;
    }
    if (!first && outcome != Outcome::kNoPages) {
      first = outcome;
    }
    if (outcome != Outcome::kAdded) {
      still_waiting.push_back(std::move(ref));
    }
  }
  waiting_ = std::move(still_waiting);
  return first != Outcome::kNoRoom;
}

bool PassPlanner::AddLong(PassBuilder& pass, Clock::time_point now) {
  for (auto long_job = long_.begin(); long_job != long_.end(); ++long_job) {
    const Outcome outcome = AddInTurn(pass, *long_job, now);
    if (long_job->next == long_job->end) {
      long_.erase(long_job);
      return true;
    }
    if (outcome != Outcome::kNoPages) {
      return outcome == Outcome::kAdded;
    }
  }
  return true;
}

Outcome PassPlanner::AddInTurn(PassBuilder& pass, LongJob& long_job, Clock::time_point now) {
  auto first_outcome = Outcome::kNoRoom;
  const std::size_t first = long_job.next;
  for (; long_job.next < long_job.end && !pass.full(); ++long_job.next) {
    const SequenceRef ref{long_job.job, long_job.next};
    const SequenceRun& run = ref.run();
    const bool is_whole = !run.is_under_way() && run.FitsEmptyPass();
    auto outcome = Outcome::kNoPages;
    if (!MustWaitForPages(ref)) {
      outcome = is_whole ? AddWhole(pass, ref, now) : AddPart(pass, ref, pass.rows(), now);
    }
    if (long_job.next == first) {
      first_outcome = outcome;
    }
    if (outcome != Outcome::kAdded || run.has_rows_left()) {
      break;
    }
  }
  return first_outcome;
}

void PassPlanner::AddCompletions(PassBuilder& pass, std::int64_t max_rows, Clock::time_point now) {
  // By index, because preemption erases elements.
  for (std::size_t i = 0; i < running_.size() && max_rows > 0 && !pass.full(); ++i) {
    const SequenceRef ref = running_[i];
    if (ref.run().is_in_pass()) {
      continue;
    }
    Outcome outcome = AddPart(pass, ref, max_rows, now);
    while (outcome == Outcome::kNoPages && PreemptYoungest() && ref.run().is_under_way()) {
      outcome = AddPart(pass, ref, max_rows, now);
    }
    if (outcome == Outcome::kAdded) {
      max_rows -= ref.run().added_rows();
    }
  }
}

bool PassPlanner::PreemptYoungest() {
  const auto youngest =
      std::find_if(running_.rbegin(), running_.rend(),
                   [](const SequenceRef& ref) { return !ref.run().is_in_pass(); });
  if (youngest == running_.rend()) {
    return false;
  }
  const SequenceRef ref = *youngest;
  running_.erase(std::next(youngest).base());
  ref.run().ReleasePages();
  Requeue(ref);
  return true;
}

void PassPlanner::Requeue(const SequenceRef& ref) {
  if (ref.run().FitsEmptyPass()) {
    InsertByArrival(ref, waiting_);
    return;
  }
  // The first long job may have begun, and stays the first.
  const auto begin = long_.empty() ? long_.end() : std::next(long_.begin());
  const auto place = std::upper_bound(
      begin, long_.end(), ref.ticket(),
      [](JobTicket ticket, const LongJob& other) { return ticket < other.job->ticket; });
  long_.insert(place, {ref.job, ref.sequence, ref.sequence + 1});
}

Outcome PassPlanner::AddWhole(PassBuilder& pass, const SequenceRef& ref, Clock::time_point now) {
  // Leaves a page free for each running completion, so that a new sequence does not soon preempt
  // one.
  const Outcome outcome = ref.run().AddWhole(pass, static_cast<std::int64_t>(running_.size()));
  RecordOutcome(ref, outcome, now);
  return outcome;
}

Outcome PassPlanner::AddPart(PassBuilder& pass, const SequenceRef& ref, std::int64_t max_rows,
                             Clock::time_point now) {
  const Outcome outcome =
      ref.run().AddPart(pass, max_rows, static_cast<std::int64_t>(running_.size()));
  RecordOutcome(ref, outcome, now);
  return outcome;
}

bool PassPlanner::MustWaitForPages(const SequenceRef& ref) const {
  return page_waiter_ && *page_waiter_ < ref.ticket() && ref.run().takes_several_passes() &&
         !ref.run().is_under_way();
}

void PassPlanner::RecordOutcome(const SequenceRef& ref, Outcome outcome, Clock::time_point now) {
  if (outcome == Outcome::kNoPages && !ref.run().is_under_way()) {
    page_waiter_ = std::min(page_waiter_.value_or(ref.ticket()), ref.ticket());
  } else if (outcome == Outcome::kAdded) {
    if (page_waiter_ == ref.ticket()) {
      page_waiter_.reset();
    }
    RecordAdded(ref, now);
  }
}

void PassPlanner::RecordAdded(const SequenceRef& ref, Clock::time_point now) {
  ActiveJob& job = *ref.job;
  if (!job.started) {
    job.started = now;
    --waiting_jobs_;
  }
  in_pass_.push_back(ref);
  std::int64_t& waiting = job.waiting_rows[ref.sequence];
  const std::int64_t gone =
      ref.run().is_prompt_added() ? waiting : std::min(waiting, ref.run().added_rows());
  waiting -= gone;
  waiting_rows_ -= gone;
}

std::vector<JobPointer> PassPlanner::PassDone(std::span<proto::RowLogits> rows,
                                              Clock::time_point now) {
  std::vector<JobPointer> done;
  cache_.PassDone();
  for (const SequenceRef& ref : std::exchange(in_pass_, {})) {
    ActiveJob& job = *ref.job;
    SequenceRun& run = ref.run();
    const std::size_t reads = run.reads_in_pass();
    Check(reads <= rows.size(), "a pass returns a row for each of its reads");
    run.Take(rows.first(reads));
    rows = rows.subspan(reads);
    if (run.is_done()) {
      job.rows[ref.sequence] = std::move(run.results());
      job.cached_tokens += run.cached_rows();
      job.runs[ref.sequence].reset();
      if (--job.unfinished_sequences == 0) {
        job.finished = now;
        done.push_back(ref.job);
      }
    } else if (run.is_generating() &&
               std::find(running_.begin(), running_.end(), ref) == running_.end()) {
      InsertByArrival(ref, running_);
    }
  }
  Check(rows.empty(), "a pass returns rows for its reads only");
  std::erase_if(running_,
                [](const SequenceRef& ref) { return ref.job->runs[ref.sequence] == nullptr; });
  return done;
}

}  // namespace scorecast::coordinator

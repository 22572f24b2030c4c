#include "coordinator/schedule/pass_planner.h"

#include <algorithm>
#include <chrono>
#include <iterator>
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
  waiting_since_.emplace(job->ticket, job->submitted);
  waiting_clients_.Add(job->client, job->size);
  bytes_ += job->size.bytes;
  waiting_rows_ += job->cost.rows;
  const std::size_t sequences = job->sequences.size();
  if (!FitsPass(job->cost, limits_)) {
    long_.push_back({job, 0, sequences});
    return;
  }
  for (std::size_t i = 0; i < sequences; ++i) {
    waiting_.push_back({job, i});
  }
}

void PassPlanner::AddStatus(SchedulerStatus& status, Clock::time_point now) const {
  status.waiting_jobs = static_cast<std::int64_t>(waiting_since_.size());
  if (!waiting_since_.empty()) {
    const std::chrono::duration<double> wait = now - waiting_since_.begin()->second;
    status.oldest_wait_seconds = wait.count();
  }
  status.waiting_tokens = waiting_clients_.all().size.tokens;
  status.waiting_bytes = waiting_clients_.all().size.bytes;
  status.waiting_rows = waiting_rows_;
  status.bytes = bytes_;
  status.running_completions = static_cast<std::int64_t>(running_.size());
  status.cache = cache_.counters();
}

void PassPlanner::EndWaiting(const ActiveJob& job) {
  waiting_since_.erase(job.ticket);
  waiting_clients_.Remove(job.client, job.size);
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
    if (!job->error || job->is_in_pass()) {
      return false;
    }
    if (!job->is_dropped) {
      job->is_dropped = true;
      job->finished = now;
      waiting_rows_ -= job->waiting_rows();
      bytes_ -= job->size.bytes + job->rows_bytes;
      job->sequences.clear();
      job->rows.clear();
      if (!job->started) {
        EndWaiting(*job);
      }
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
    } else if (IsTooLarge(ref, pass)) {
      outcome = Outcome::kNoRoom;
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
    const SequenceRun& run = RunOf(ref);
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
  const Outcome outcome = RunOf(ref).AddWhole(pass, static_cast<std::int64_t>(running_.size()));
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
  const ActiveSequence& state = ref.state();
  return page_waiter_ && *page_waiter_ < ref.ticket() && state.takes_several_passes &&
         (state.run == nullptr || !state.run->is_under_way());
}

bool PassPlanner::IsTooLarge(const SequenceRef& ref, const PassBuilder& pass) const {
  const ActiveSequence& state = ref.state();
  if (cache_.is_enabled() || state.run != nullptr) {
    return false;
  }
  PassCost cost = state.cost;
  cost.kv_rows = 0;  // It may take pages instead.
  return !cost.FitsInto(pass.room());
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
    EndWaiting(job);
  }
  in_pass_.push_back(ref);
  std::int64_t& waiting = job.sequences[ref.sequence].waiting_rows;
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
      ActiveSequence& state = job.sequences[ref.sequence];
      std::vector<proto::RowLogits>& results = job.rows[ref.sequence];
      results = std::move(run.results());
      const std::int64_t results_bytes = RowsBytes(results);
      job.rows_bytes += results_bytes;
      bytes_ += results_bytes;
      job.cached_tokens += run.cached_rows();
      state.run.reset();
      state.is_done = true;
      if (--job.unfinished_sequences == 0) {
        job.finished = now;
        bytes_ -= job.size.bytes + job.rows_bytes;
        done.push_back(ref.job);
      }
    } else if (run.is_generating() &&
               std::find(running_.begin(), running_.end(), ref) == running_.end()) {
      InsertByArrival(ref, running_);
    }
  }
  Check(rows.empty(), "a pass returns rows for its reads only");
  std::erase_if(running_, [](const SequenceRef& ref) { return ref.state().is_done; });
  return done;
}

}  // namespace scorecast::coordinator

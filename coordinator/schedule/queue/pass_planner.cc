#include "coordinator/schedule/queue/pass_planner.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <set>
#include <utility>

#include "coordinator/schedule/pass/pass_builder.h"
#include "coordinator/schedule/queue/part_turns.h"
#include "proto/base/check.h"

namespace scorecast::coordinator {

using proto::Check;

namespace {

/// While other rows wait, running completions first get 1/kCompletionsShare of a pass.
constexpr std::int64_t kCompletionsShare = 2;

/// Upper bound on the time that a client may save up: in bounded passes, and in seconds if passes
/// have no bound.
constexpr double kCreditPasses = 4;
constexpr double kUnboundedCredit = 0.8;

/// Upper bound on the sequences that are looked up in the cache for one pass and then do not fit
/// it, or turn out to need pages. It does not count before the pass has rows: what has begun may
/// stand behind all that must now wait for its pages.
constexpr int kMaxFailedLookups = 32;

}  // namespace

PassPlanner::PassPlanner(const proto::PlanLimits& limits, std::int32_t cached_pages)
    : limits_(limits),
      cache_(limits.kept_kv_rows / proto::kKvPageRows, cached_pages),
      pages_(limits),
      measure_(limits, budget_, cache_, expected_, pages_) {}

double PassPlanner::Credit() const {
  return std::isfinite(budget_.seconds) ? kCreditPasses * budget_.seconds : kUnboundedCredit;
}

void PassPlanner::Add(const JobPointer& job, const JobWork& work) {
  waiting_since_.emplace(job->ticket, job->submitted);
  waiting_clients_.Add(job->path.client, job->size);
  ++jobs_;
  bytes_ += job->size.bytes;
  for (std::size_t i = 0; i < job->sequences.size(); ++i) {
    ActiveSequence& state = job->sequences[i];
    waiting_rows_ += state.waiting_rows;
    const SequenceRef ref = {job, i};
    Enqueue(ref, work.sequences[i]);
    if (std::cmp_less_equal(state.page_digests.size(), cache_.budget_pages())) {
      expected_.Add(ref.entry(), state.page_digests);
    } else {
      state.page_digests = {};
    }
  }
}

JobForecast PassPlanner::ForecastFor(const FairPath& path, const JobWork& work) const {
  const double seconds = budget_.rates.Seconds(work.all);
  return {.seconds = seconds,
          .first_seconds = std::min(seconds, measure_.LongestSeconds()),
          .weight = WeightOf(path.priority)};
}

QueueForecast PassPlanner::ForecastFor(const FairPath& path) const {
  QueueForecast forecast = ForecastOf(path, queue_.TagsOf(path), queue_.Backlogs(budget_.rates));
  forecast.speed = Speed();
  return forecast;
}

QueueForecast PassPlanner::LongestForecast() const {
  return {.own_seconds = budget_.rates.Seconds(queue_.left()), .speed = Speed()};
}

double PassPlanner::Speed() const {
  const double longest = measure_.LongestSeconds();
  if (longest <= 0) {
    return 1;
  }
  const auto completions = static_cast<std::int64_t>(running_.size());
  const double of_completions =
      std::min(budget_.rates.Seconds({.rows = completions, .keys = 0, .reads = completions}),
               longest / static_cast<double>(kCompletionsShare));
  const double of_others = longest - of_completions;
  return of_others / std::max(longest + budget_.rates.overhead, of_others);
}

void PassPlanner::Enqueue(const SequenceRef& ref, const PassWork& left) {
  queue_.Add(ref.job->path, ref.entry(), left);
  waiting_.emplace(ref.entry(), ref);
}

void PassPlanner::Dequeue(const SequenceRef& ref) {
  queue_.Remove(ref.job->path, ref.entry());
  waiting_.erase(ref.entry());
  expected_.Remove(ref.entry(), std::exchange(ref.state().page_digests, {}));
}

void PassPlanner::CountLeftOverWork() {
  for (auto waiting = waiting_.begin(); waiting != waiting_.end() && expected_.has_left_over();
       ++waiting) {
    const SequenceRef& ref = waiting->second;
    const ActiveSequence& state = ref.state();
    if (expected_.TakeLeftOver(ref.entry(), state.page_digests) && state.run == nullptr) {
      queue_.SetLeft(ref.job->path, ref.entry(), measure_.WorkLeft(ref, [&](std::uint64_t page) {
        return expected_.IsOfAnother(ref.entry(), page);
      }));
    }
  }
}

void PassPlanner::AddStatus(SchedulerStatus& status, Clock::time_point now) const {
  status.waiting_jobs = static_cast<std::int64_t>(waiting_since_.size());
  status.running_jobs = jobs_ - status.waiting_jobs;
  if (!waiting_since_.empty()) {
    const std::chrono::duration<double> wait = now - waiting_since_.begin()->second;
    status.oldest_wait_seconds = wait.count();
  }
  status.waiting_tokens = waiting_clients_.all().size.tokens;
  status.waiting_bytes = waiting_clients_.all().size.bytes;
  status.waiting_rows = waiting_rows_;
  status.predicted_seconds = budget_.rates.Seconds(queue_.left());
  status.bytes = bytes_;
  status.running_completions = static_cast<std::int64_t>(running_.size());
  status.cache = cache_.counters();
  status.kv_pages = limits_.kept_kv_rows / proto::kKvPageRows;
  status.held_kv_pages = status.kv_pages - cache_.available_pages();
}

void PassPlanner::EndWaiting(const ActiveJob& job) {
  waiting_since_.erase(job.ticket);
  waiting_clients_.Remove(job.path.client, job.size);
}

template <typename Function>
void PassPlanner::ForEachCompletion(Function function) const {
  running_.ForEach(function);
  for (const SequenceRef& ref : in_pass_) {
    if (ref.run().has_active_completions()) {
      function(ref);
    }
  }
}

void PassPlanner::Fail(const JobPointer& job, const proto::Error& error) {
  if (!job->error) {
    job->error = error;
    failed_.emplace(job->ticket, job);
  }
}

void PassPlanner::Fail(std::span<const JobTicket> tickets, const proto::Error& error) {
  for (const JobTicket ticket : tickets) {
    const auto waiting = waiting_.lower_bound({ticket, 0});
    if (waiting != waiting_.end() && waiting->first.ticket == ticket) {
      Fail(waiting->second.job, error);
    }
  }
  ForEachCompletion([&](const SequenceRef& ref) {
    if (std::ranges::binary_search(tickets, ref.ticket())) {
      Fail(ref.job, error);
    }
  });
}

void PassPlanner::FailAll(const proto::Error& error) {
  for (const auto& [entry, ref] : waiting_) {
    Fail(ref.job, error);
  }
  ForEachCompletion([&](const SequenceRef& ref) { Fail(ref.job, error); });
}

void PassPlanner::Drop(ActiveJob& job, Clock::time_point now) {
  job.is_dropped = true;
  job.result.finished = now;
  waiting_rows_ -= job.waiting_rows();
  --jobs_;
  bytes_ -= job.size.bytes + job.rows_bytes;
  for (auto waiting = waiting_.lower_bound({job.ticket, 0});
       waiting != waiting_.end() && waiting->first.ticket == job.ticket;) {
    queue_.Remove(job.path, waiting->first);
    waiting = waiting_.erase(waiting);
  }
  for (std::size_t i = 0; i < job.sequences.size(); ++i) {
    EndPages({job.ticket, i}, job.sequences[i]);
    expected_.Drop({job.ticket, i}, job.sequences[i].page_digests);
  }
  job.Clear();
  if (!job.has_started) {
    EndWaiting(job);
  }
}

std::vector<JobPointer> PassPlanner::TakeDropped(Clock::time_point now) {
  std::vector<JobPointer> dropped;
  if (failed_.empty()) {
    return dropped;
  }
  std::set<JobTicket> in_pass;
  for (const SequenceRef& ref : in_pass_) {
    in_pass.insert(ref.ticket());
  }
  for (auto failed = failed_.begin(); failed != failed_.end();) {
    if (in_pass.contains(failed->first)) {
      ++failed;
      continue;
    }
    Drop(*failed->second, now);
    dropped.push_back(std::move(failed->second));
    failed = failed_.erase(failed);
  }
  if (!dropped.empty()) {
    running_.RemoveIf([](const SequenceRef& ref) { return ref.job->is_dropped; });
    CountLeftOverWork();
  }
  return dropped;
}

std::optional<proto::ForwardPlan> PassPlanner::FormPass(Clock::time_point now) {
  if (is_queue_empty()) {
    return std::nullopt;
  }
  cache_.SetAwaited(pages_.has_waiting());
  queue_.BeginPass(Credit());
  PassBuilder pass(limits_, budget_);
  if (!completions_give_way_) {
    const std::int64_t share = queue_.empty() ? 1 : kCompletionsShare;
    AddCompletions(pass, std::max<std::int64_t>(pass.rows() / share, 1),
                   budget_.seconds / static_cast<double>(share), now);
  }
  const bool has_completions_first = !pass.empty();
  const bool found_room = AddWaiting(pass, now);
  AddCompletions(pass, pass.rows(), pass.seconds_left(), now);
  // Without a page for any sequence: completions have just given theirs back, or must do so now.
  for (bool is_left = true; pass.empty() && is_left; is_left = PreemptQueued()) {
    queue_.BeginPass(Credit());
    AddWaiting(pass, now);
  }
  completions_give_way_ = has_completions_first && !found_room;
  running_.NoteSteps(++passes_);
  pass_work_ = pass.work();
  Check(!pass.empty(), "the first rows that wait fit an empty pass");
  proto::ForwardPlan plan = std::move(pass).Take();
  is_step_ = plan.step.has_value();
  return plan;
}

bool PassPlanner::AddWaiting(PassBuilder& pass, Clock::time_point now) {
  PartTurns turns(pass, limits_.max_rows);
  std::optional<bool> first_found_room;
  int failed_lookups = 0;
  while (const auto entry = queue_.Next()) {
    if (first_found_room && pass.full()) {
      break;
    }
    const SequenceRef ref = waiting_.at(*entry);
    auto outcome = Outcome::kNoRoom;
    if (MustWaitForPages(ref)) {
      outcome = Outcome::kNoPages;
    } else if (pass.full() || (failed_lookups >= kMaxFailedLookups && !pass.empty())) {
      first_found_room = first_found_room.value_or(false);
      break;
    } else if (!IsTooLarge(ref, pass)) {
      outcome = AddNext(pass, ref, turns, now);
      failed_lookups += outcome == Outcome::kAdded ? 0 : 1;
    }
    if (!first_found_room && outcome != Outcome::kNoPages) {
      first_found_room = outcome == Outcome::kAdded;
    }
    if (outcome != Outcome::kAdded) {
      queue_.Skip();
    }
  }
  AddParts(turns, now);
  return first_found_room.value_or(true);
}

SequenceRun::Outcome PassPlanner::AddNext(PassBuilder& pass, const SequenceRef& ref,
                                          PartTurns& turns, Clock::time_point now) {
  ActiveSequence& state = ref.state();
  const bool may_be_cut = state.max_rows < limits_.max_rows || !budget_.HasTimeFor(state.work);
  if (state.run == nullptr && may_be_cut) {
    // The cache and the bound may have changed. What is expected may not have come.
    measure_.Size(ref, measure_.WorkLeft(ref, [](std::uint64_t) { return false; }));
    pages_.SetNeed(ref.entry(), state.pages);
    if (MustWaitForPages(ref)) {
      return Outcome::kNoPages;
    }
  }
  if (state.cut) {
    return AddStep(pass, ref, now);
  }
  SequenceRun& run = ref.job->RunOf(ref.sequence, cache_, limits_);
  const bool began_before = run.is_under_way();
  const bool is_whole = !began_before && run.FitsEmptyPass(budget_);
  const Outcome outcome = is_whole ? AddWhole(pass, ref, now) : AddTurn(pass, ref, turns);
  if (outcome == Outcome::kNoPages && !began_before) {
    pages_.Wait(ref.entry(), state.pages, TagsOf(ref));
  }
  if (!began_before && run.is_under_way()) {
    state.has_begun = true;
    if (state.takes_several_passes) {
      pages_.Begin(ref.entry(), state.pages);
    }
  } else if (!state.has_begun) {
    ref.job->DropRun(ref.sequence);
  }
  return outcome;
}

SequenceRun::Outcome PassPlanner::AddWhole(PassBuilder& pass, const SequenceRef& ref,
                                           Clock::time_point now) {
  const double before = pass.seconds();
  const Outcome outcome = ref.run().AddWhole(pass, SparePages(ref));
  if (outcome == Outcome::kAdded) {
    queue_.ChargeNext(pass.seconds() - before);
    Check(ref.run().is_prompt_added(), "a sequence that fits a pass is added as a whole");
    Dequeue(ref);
    RecordAdded(ref, now);
  }
  return outcome;
}

SequenceRun::Outcome PassPlanner::AddStep(PassBuilder& pass, const SequenceRef& ref,
                                          Clock::time_point now) {
  if (IsTooLarge(ref, pass)) {
    return Outcome::kNoRoom;
  }
  ActiveSequence& state = ref.state();
  if (!state.has_begun) {
    if (!TakeTextPages(state)) {
      pages_.Wait(ref.entry(), state.pages, TagsOf(ref));
      return Outcome::kNoPages;
    }
    pages_.Begin(ref.entry(), state.pages);
    state.has_begun = true;
  }
  SequenceRun& run = ref.job->RunOf(ref.sequence, cache_, limits_);
  run.AddStep(pass, static_cast<std::int32_t>(*state.text_page * proto::kKvPageRows));
  queue_.ChargeNext(pass.seconds());
  RecordAdded(ref, now);
  if (run.is_prompt_added()) {
    Dequeue(ref);
  } else {
    queue_.SetLeft(ref.job->path, ref.entry(), run.WorkLeft());
  }
  return Outcome::kAdded;
}

bool PassPlanner::TakeTextPages(ActiveSequence& state) {
  // A long text leaves the reserve to short ones. A short one leaves the other pages to long ones,
  // unless the reserve has too few and no long text waits.
  const auto& [pages, is_long] = state.pages;
  const std::int64_t all = pages_.pages();
  const std::int64_t of_long = all - pages_.reserve();
  state.text_page =
      text_pages_.Take(pages, is_long ? proto::Range{0, of_long} : proto::Range{of_long, all});
  if (!state.text_page && !is_long && !pages_.has_waiting_long()) {
    state.text_page = text_pages_.Take(pages, {0, all});
  }
  return state.text_page.has_value();
}

void PassPlanner::EndPages(const FairQueue::Entry& entry, ActiveSequence& state) {
  pages_.End(entry);
  if (state.text_page) {
    text_pages_.Give(*std::exchange(state.text_page, std::nullopt));
  }
}

SequenceRun::Outcome PassPlanner::AddTurn(PassBuilder& pass, const SequenceRef& ref,
                                          PartTurns& turns) {
  SequenceRun& run = ref.run();
  if (!turns.Has(ref) && !run.TakePages(pass, run.is_under_way() ? 0 : SparePages(ref))) {
    return Outcome::kNoPages;
  }
  const std::optional<double> seconds = turns.Add(ref);
  if (!seconds) {
    return Outcome::kNoRoom;
  }
  queue_.ChargeNext(*seconds);
  return Outcome::kAdded;
}

void PassPlanner::AddParts(PartTurns& turns, Clock::time_point now) {
  turns.AddParts([&](const SequenceRef& ref, double seconds) {
    queue_.Charge(ref.job->path, seconds);
    RecordAdded(ref, now);
    if (ref.run().is_prompt_added()) {
      Dequeue(ref);
    } else {
      queue_.SetLeft(ref.job->path, ref.entry(), ref.run().WorkLeft());
    }
  });
}

void PassPlanner::AddCompletions(PassBuilder& pass, std::int64_t max_rows, double max_seconds,
                                 Clock::time_point now) {
  const double end = pass.seconds() + max_seconds;
  for (const SequenceRef& ref : running_.InTurn()) {
    // The first one is added even if there is no time at all, so that there is progress.
    if (max_rows <= 0 || pass.full() || (!pass.empty() && pass.seconds() >= end)) {
      return;
    }
    SequenceRun& run = ref.run();
    const auto is_left = [&] { return run.is_under_way() && !run.is_in_pass(); };
    if (!is_left()) {  // It may have been preempted for one before it.
      continue;
    }
    const double before = pass.seconds();
    const double seconds = end - before;
    Outcome outcome = run.AddPart(pass, max_rows, seconds, pages_.SpareToGrow());
    while (outcome == Outcome::kNoPages && Preempt() && is_left()) {
      outcome = run.AddPart(pass, max_rows, seconds);
    }
    if (outcome == Outcome::kAdded) {
      max_rows -= run.added_rows();
      queue_.Charge(ref.job->path, pass.seconds() - before);
      RecordAdded(ref, now);
    }
  }
}

bool PassPlanner::Preempt() {
  const auto ref = running_.ToPreempt(queue_);
  if (!ref) {
    return false;
  }
  running_.Remove(*ref);
  ref->run().ReleasePages();
  Enqueue(*ref, ref->run().WorkLeft());
  return true;
}

bool PassPlanner::PreemptQueued() {
  std::optional<SequenceRef> most;
  for (const auto& [entry, ref] : waiting_) {
    const ActiveSequence& state = ref.state();
    if (state.run != nullptr && state.run->is_under_way() && state.run->has_active_completions() &&
        (!most || TagsOf(ref) >= TagsOf(*most))) {  // Later ones are younger.
      most = ref;
    }
  }
  if (!most) {
    return false;
  }
  most->run().ReleasePages();
  queue_.SetLeft(most->job->path, most->entry(), most->run().WorkLeft());
  return true;
}

bool PassPlanner::MustWaitForPages(const SequenceRef& ref) {
  const ActiveSequence& state = ref.state();
  return state.takes_several_passes && (state.run == nullptr || !state.run->is_under_way()) &&
         !pages_.MayBegin(ref.entry(), state.pages, TagsOf(ref));
}

std::int64_t PassPlanner::SparePages(const SequenceRef& ref) const {
  const PageQueue::Need& need = ref.state().pages;
  // Leaves a page free for each running completion, so that a long-lived sequence does not soon
  // preempt one.
  return need.is_long_lived ? pages_.SpareToBegin(need) + static_cast<std::int64_t>(running_.size())
                            : 0;
}

bool PassPlanner::IsTooLarge(const SequenceRef& ref, const PassBuilder& pass) const {
  const ActiveSequence& state = ref.state();
  if (state.cut) {
    return !pass.empty();
  }
  if (cache_.is_enabled() || state.run != nullptr || state.takes_several_passes) {
    return false;
  }
  PassCost cost = state.cost;
  cost.kv_rows = 0;  // It may take pages instead.
  return !cost.FitsInto(pass.room()) || !pass.HasTimeFor(state.work);
}

void PassPlanner::RecordAdded(const SequenceRef& ref, Clock::time_point now) {
  ActiveJob& job = *ref.job;
  if (!std::exchange(job.has_started, true)) {
    job.result.started = now;
    EndWaiting(job);
  }
  in_pass_.push_back(ref);
  std::int64_t& waiting = ref.state().waiting_rows;
  const std::int64_t gone =
      ref.run().is_prompt_added() ? waiting : std::min(waiting, ref.run().added_rows());
  waiting -= gone;
  waiting_rows_ -= gone;
}

std::vector<SequenceRun::RowOfCompletion> PassPlanner::RowsOfCompletions(
    std::span<const proto::RowLogits> rows) const {
  std::vector<SequenceRun::RowOfCompletion> all;
  for (const SequenceRef& ref : in_pass_) {
    const SequenceRun& run = ref.run();
    const std::size_t reads = run.reads_in_pass();
    Check(reads <= rows.size(), "a pass returns a row for each of its reads");
    std::ranges::move(run.RowsOfCompletions(rows.first(reads)), std::back_inserter(all));
    rows = rows.subspan(reads);
  }
  return all;
}

std::vector<JobPointer> PassPlanner::PassDone(std::span<proto::RowLogits> rows,
                                              std::span<const TokenChooser::Choice> choices,
                                              Clock::time_point now) {
  std::vector<JobPointer> done;
  cache_.PassDone();
  for (const SequenceRef& ref : std::exchange(in_pass_, {})) {
    ActiveJob& job = *ref.job;
    SequenceRun& run = ref.run();
    const std::size_t reads = run.reads_in_pass();
    Check(reads <= rows.size(), "a pass returns a row for each of its reads");
    choices = run.Take(rows.first(reads), choices);
    rows = rows.subspan(reads);
    if (run.is_done()) {
      const std::int64_t results_bytes = RowsBytes(run.results());
      job.rows_bytes += results_bytes;
      bytes_ += results_bytes;
      job.result.cached_tokens += run.cached_rows();
      running_.Remove(ref);
      EndPages(ref.entry(), ref.state());
      job.EndSequence(ref.sequence);
      if (--job.unfinished_sequences == 0) {
        job.result.finished = now;
        failed_.erase(job.ticket);
        --jobs_;
        bytes_ -= job.size.bytes + job.rows_bytes;
        done.push_back(ref.job);
      }
    } else if (run.is_generating()) {
      running_.Add(ref);
    }
  }
  Check(rows.empty() && choices.empty(), "a pass returns rows for its reads only");
  return done;
}

}  // namespace scorecast::coordinator

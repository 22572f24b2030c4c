#include "coordinator/schedule/scheduler.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include "proto/base/check.h"

namespace scorecast::coordinator {

using proto::Check;
using proto::ForwardPlan;
using proto::RowLogits;

namespace {

/// See WaitForRoom.
constexpr std::int64_t kPassesAhead = 4;

/// Of the time that a row takes, how much the newest pass says, and how many rows it needs for
/// that.
constexpr double kNewestShare = 0.2;
constexpr std::int64_t kRowsToMeasure = 32;

/// Answers that are being generated take one row in so many of a pass that others wait for.
constexpr std::int64_t kAnswersShare = 2;

/// Behind those whose jobs came before, or with it.
template <typename OfJob, typename Queue>
void InsertByArrival(const OfJob& of, Queue& queue) {
  queue.insert(
      std::upper_bound(queue.begin(), queue.end(), of,
                       [](const OfJob& a, const OfJob& b) { return a.ticket() < b.ticket(); }),
      of);
}

/// Sequences that are looked up in the cache for one pass and then do not fit it.
constexpr int kMostLookups = 32;

proto::Error DeadlinePassed() {
  return {504, "deadline_passed", "The request's deadline passed before all of it was computed.",
          "timeout_ms"};
}

}  // namespace

proto::Error Draining() { return {503, "draining", "The server is shutting down.", ""}; }

struct Scheduler::ActiveJob {
  std::optional<Clock::time_point> deadline;
  std::function<void(JobResult)> done;
  Ticket ticket = kNoTicket;                       ///< Order of arrival.
  std::vector<std::unique_ptr<SequenceRun>> runs;  ///< [sequences]; null when it is over.
  std::vector<std::int64_t> waiting_rows;          ///< [sequences]: in no pass yet.
  std::vector<std::vector<RowLogits>> rows;        ///< [sequences][reads]
  std::int64_t cached_tokens = 0;
  std::size_t unfinished = 0;  ///< Sequences.
  std::optional<Clock::time_point> started;
  Clock::time_point finished;
  std::optional<proto::Error> error;  ///< Dropped, or to be as soon as nothing rides.
  bool dropped = false;

  void Finish(Clock::time_point now) { finished = now; }

  bool late(Clock::time_point now) const { return deadline && *deadline <= now; }
  bool is_riding() const {
    return std::any_of(runs.begin(), runs.end(),
                       [](const auto& run) { return run != nullptr && run->is_riding(); });
  }

  void CallDone() {
    using Rows = decltype(JobResult::rows);
    const auto call = std::move(done);
    call(JobResult{error ? Rows(proto::Unexpected(*std::move(error))) : Rows(std::move(rows)),
                   cached_tokens, started.value_or(finished), finished});
  }
};

SequenceRun& Scheduler::OfJob::run() const { return *job->runs[sequence]; }
Scheduler::Ticket Scheduler::OfJob::ticket() const { return job->ticket; }

Scheduler::Scheduler(proto::Cluster& cluster, SchedulerOptions options)
    : cluster_(cluster),
      options_(options),
      cache_(cluster.limits().kept_kv_rows / proto::kKvPageRows, options.cached_pages) {}

Scheduler::~Scheduler() {
  const std::lock_guard lock(mutex_);
  Check(IsIdle(), "a scheduler is idle when it is destroyed");
}

BlockCacheCounters Scheduler::cache_counters() const {
  const std::lock_guard lock(mutex_);
  return cache_.counters();
}

Scheduler::Ticket Scheduler::Submit(Job job) {
  auto active = std::make_shared<ActiveJob>();
  active->deadline = job.deadline;
  active->done = std::move(job.done);
  const std::size_t count = job.sequences.size();
  active->unfinished = count;
  active->rows.resize(count);
  PassCost total;
  for (std::size_t i = 0; i < count; ++i) {
    proto::PackedSequence& sequence = job.sequences[i];
    std::vector<Generation> answers;
    std::copy_if(job.generations.begin(), job.generations.end(), std::back_inserter(answers),
                 [&](const Generation& answer) { return answer.sequence == i; });
    Check(!sequence.tokens.empty(), "a sequence has rows");
    Check(!CapacityFault(sequence, limits(), answers), "a sequence can be computed");
    total += CostOf(sequence);
    total.reads += static_cast<std::int64_t>(answers.size());
    active->waiting_rows.push_back(sequence.rows());
    active->runs.push_back(std::make_unique<SequenceRun>(
        std::move(sequence), std::move(answers), job.cache_salt, cache_, cluster_.limits()));
  }
  if (count == 0) {
    active->Finish(Clock::now());
    active->CallDone();
    return kNoTicket;
  }

  Step step;
  {
    std::unique_lock lock(mutex_);
    if (waiting_jobs_ >= options_.max_queue) {
      active->error = proto::Error{429, "queue_full",
                                   "Too many requests wait: " + std::to_string(waiting_jobs_) +
                                       " of at most " + std::to_string(options_.max_queue) + ".",
                                   "", RetryAfterSeconds()};
      lock.unlock();
      active->Finish(Clock::now());
      active->CallDone();
      return kNoTicket;
    }
    active->ticket = next_ticket_++;
    ++waiting_jobs_;
    waiting_rows_ += total.rows;
    if (FitsPass(total, limits())) {
      for (std::size_t i = 0; i < count; ++i) {
        short_.push_back({active, i});
      }
    } else {
      long_.push_back({active, 0, count});
    }
    if (in_flight_) {
      return active->ticket;
    }
    FormPass(step);
    ++running_;
  }
  Run(std::move(step));
  return active->ticket;
}

void Scheduler::Cancel(std::vector<Ticket> tickets) {
  if (tickets.empty()) {
    return;
  }
  std::sort(tickets.begin(), tickets.end());
  DropWhere(
      [&](const ActiveJob& job) {
        return std::binary_search(tickets.begin(), tickets.end(), job.ticket);
      },
      {499, "client_left", "The client left before its request was computed.", ""});
}

void Scheduler::RefuseWaiting() {
  DropWhere([](const ActiveJob&) { return true; }, Draining());
}

template <typename Condition>
void Scheduler::DropWhere(Condition condition, const proto::Error& error) {
  Step step;
  {
    const std::lock_guard lock(mutex_);
    const auto mark = [&](const JobPointer& job) {
      if (!job->error && condition(*job)) {
        job->error = error;
      }
    };
    for (const OfJob& of : short_) {
      mark(of.job);
    }
    for (const Long& work : long_) {
      mark(work.job);
    }
    for (const OfJob& of : generating_) {
      mark(of.job);
    }
    for (const OfJob& of : riding_) {
      if (of.run().has_answers()) {  // Of which there is more to come than this pass.
        mark(of.job);
      }
    }
    DropFaulty(Clock::now(), step);
    ++running_;
  }
  Run(std::move(step));
}

std::int64_t Scheduler::RetryAfterSeconds() const {
  const double seconds = std::ceil(static_cast<double>(waiting_rows_) * seconds_per_row_);
  return static_cast<std::int64_t>(std::clamp(seconds, 1.0, 60.0));
}

bool Scheduler::IsIdle() const {
  return !in_flight_ && running_ == 0 && short_.empty() && long_.empty() && generating_.empty();
}

void Scheduler::WaitForRoom() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return waiting_rows_ <= kPassesAhead * limits().max_rows; });
}

void Scheduler::WaitIdle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return IsIdle(); });
}

bool Scheduler::WaitIdleFor(Clock::duration time) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, time, [&] { return IsIdle(); });
}

void Scheduler::FormPass(Step& step) {
  const Clock::time_point now = Clock::now();
  DropFaulty(now, step);
  const bool others_wait = !short_.empty() || !long_.empty();
  if (!others_wait && generating_.empty()) {
    return;
  }
  const bool long_first =
      !long_.empty() && (short_.empty() || (long_.front().job->ticket < short_.front().ticket() &&
                                            !long_led_last_pass_));
  pass_began_ = now;
  pass_rows_ = 0;
  cache_.SetAwaited(page_waiter_.has_value());
  PassBuilder pass(limits());
  if (!answers_give_way_) {
    AddAnswers(pass,
               others_wait ? std::max<std::int64_t>(pass.rows() / kAnswersShare, 1) : pass.rows(),
               now);
  }
  const bool is_beside_answers = !pass.empty();
  bool has_found_room = true;
  if (long_first) {
    has_found_room = AddLong(pass, now);
    AddShort(pass, now);
  } else {
    has_found_room = AddShort(pass, now);
    AddLong(pass, now);
  }
  AddAnswers(pass, pass.rows(), now);
  answers_give_way_ = is_beside_answers && !has_found_room;
  if (!answers_give_way_) {
    long_led_last_pass_ = long_first;
  }
  Check(!pass.empty(), "what waits fits an empty pass");
  step.plan = std::move(pass).Take();
  in_flight_ = true;
}

void Scheduler::DropFaulty(Clock::time_point now, Step& step) {
  const auto drop = [&](const JobPointer& job) {
    if (!job->error && job->late(now)) {
      job->error = DeadlinePassed();
    }
    // What rides comes back first.
    if (!job->error || job->is_riding()) {
      return false;
    }
    if (!job->dropped) {
      job->dropped = true;
      job->Finish(now);
      job->runs.clear();
      waiting_rows_ -=
          std::accumulate(job->waiting_rows.begin(), job->waiting_rows.end(), std::int64_t{0});
      waiting_jobs_ -= job->started ? 0 : 1;
      if (page_waiter_ == job->ticket) {
        page_waiter_.reset();
      }
      step.done.push_back(job);
    }
    return true;
  };
  std::erase_if(short_, [&](const OfJob& of) { return drop(of.job); });
  std::erase_if(long_, [&](const Long& work) { return drop(work.job); });
  std::erase_if(generating_, [&](const OfJob& of) { return drop(of.job); });
}

bool Scheduler::MustWaitForPages(const OfJob& of) const {
  return page_waiter_ && *page_waiter_ < of.ticket() && of.run().takes_several_passes() &&
         !of.run().is_under_way();
}

void Scheduler::NoteOutcome(const OfJob& of, SequenceRun::Outcome outcome) {
  if (outcome == SequenceRun::Outcome::kNoPages && !of.run().is_under_way()) {
    page_waiter_ = std::min(page_waiter_.value_or(of.ticket()), of.ticket());
  } else if (outcome == SequenceRun::Outcome::kAdded && page_waiter_ == of.ticket()) {
    page_waiter_.reset();
  }
}

bool Scheduler::AddShort(PassBuilder& pass, Clock::time_point now) {
  std::deque<OfJob> still_waiting;
  std::optional<SequenceRun::Outcome> first;
  int failures = 0;
  for (OfJob& of : short_) {
    auto outcome = SequenceRun::Outcome::kNoRoom;
    if (MustWaitForPages(of)) {
      outcome = SequenceRun::Outcome::kNoPages;
    } else if (!pass.full() && (failures < kMostLookups || !cache_.is_enabled())) {
      outcome = AddWhole(pass, of, now);
      failures += outcome == SequenceRun::Outcome::kAdded ? 0 : 1;
    }
    if (!first && outcome != SequenceRun::Outcome::kNoPages) {
      first = outcome;
    }
    if (outcome != SequenceRun::Outcome::kAdded) {
      still_waiting.push_back(std::move(of));
    }
  }
  short_ = std::move(still_waiting);
  return first != SequenceRun::Outcome::kNoRoom;
}

bool Scheduler::AddLong(PassBuilder& pass, Clock::time_point now) {
  for (auto work = long_.begin(); work != long_.end(); ++work) {
    const auto outcome = AddInTurn(pass, *work, now);
    if (work->next == work->end) {
      long_.erase(work);
      return true;
    }
    if (outcome != SequenceRun::Outcome::kNoPages) {
      return outcome == SequenceRun::Outcome::kAdded;
    }
  }
  return true;
}

SequenceRun::Outcome Scheduler::AddInTurn(PassBuilder& pass, Long& work, Clock::time_point now) {
  auto of_first = SequenceRun::Outcome::kNoRoom;
  for (const std::size_t first = work.next; work.next < work.end && !pass.full(); ++work.next) {
    const OfJob of{work.job, work.next};
    SequenceRun& run = of.run();
    const bool is_whole = !run.is_under_way() && run.FitsEmptyPass();
    auto outcome = SequenceRun::Outcome::kNoPages;
    if (!MustWaitForPages(of)) {
      outcome = is_whole ? AddWhole(pass, of, now) : AddPart(pass, of, pass.rows(), now);
    }
    if (work.next == first) {
      of_first = outcome;
    }
    if (outcome != SequenceRun::Outcome::kAdded || run.has_rows_left()) {
      break;
    }
  }
  return of_first;
}

void Scheduler::AddAnswers(PassBuilder& pass, std::int64_t most_rows, Clock::time_point now) {
  for (std::size_t i = 0; i < generating_.size() && most_rows > 0 && !pass.full(); ++i) {
    const OfJob of = generating_[i];
    if (of.run().is_riding()) {
      continue;
    }
    auto outcome = AddPart(pass, of, most_rows, now);
    while (outcome == SequenceRun::Outcome::kNoPages && PreemptTheYoungest() &&
           of.run().is_under_way()) {
      outcome = AddPart(pass, of, most_rows, now);
    }
    if (outcome == SequenceRun::Outcome::kAdded) {
      most_rows -= of.run().added_rows();
    }
  }
}

bool Scheduler::PreemptTheYoungest() {
  const auto youngest = std::find_if(generating_.rbegin(), generating_.rend(),
                                     [](const OfJob& of) { return !of.run().is_riding(); });
  if (youngest == generating_.rend()) {
    return false;
  }
  const OfJob of = *youngest;
  generating_.erase(std::next(youngest).base());
  of.run().ReleasePages();
  Requeue(of);
  return true;
}

void Scheduler::Requeue(const OfJob& of) {
  if (of.run().FitsEmptyPass()) {
    InsertByArrival(of, short_);
    return;
  }
  // The first one may have begun.
  long_.insert(std::upper_bound(
                   long_.empty() ? long_.end() : std::next(long_.begin()), long_.end(), of.ticket(),
                   [](Ticket ticket, const Long& other) { return ticket < other.job->ticket; }),
               {of.job, of.sequence, of.sequence + 1});
}

SequenceRun::Outcome Scheduler::AddWhole(PassBuilder& pass, const OfJob& of,
                                         Clock::time_point now) {
  const auto outcome = of.run().AddWhole(pass, static_cast<std::int64_t>(generating_.size()));
  NoteOutcome(of, outcome);
  if (outcome == SequenceRun::Outcome::kAdded) {
    Planned(of, now);
  }
  return outcome;
}

SequenceRun::Outcome Scheduler::AddPart(PassBuilder& pass, const OfJob& of, std::int64_t most_rows,
                                        Clock::time_point now) {
  const auto outcome =
      of.run().AddPart(pass, most_rows, static_cast<std::int64_t>(generating_.size()));
  NoteOutcome(of, outcome);
  if (outcome == SequenceRun::Outcome::kAdded) {
    Planned(of, now);
  }
  return outcome;
}

void Scheduler::Planned(const OfJob& of, Clock::time_point now) {
  ActiveJob& job = *of.job;
  if (!job.started) {
    job.started = now;
    --waiting_jobs_;
  }
  riding_.push_back(of);
  std::int64_t& waiting = job.waiting_rows[of.sequence];
  const std::int64_t added = of.run().added_rows();
  const std::int64_t gone = of.run().is_prompt_stored() ? waiting : std::min(waiting, added);
  waiting -= gone;
  waiting_rows_ -= gone;
  pass_rows_ += added;
}

void Scheduler::Run(Step step) {
  // The pass goes first, so that nothing is idle while answers are handed over.
  if (step.plan) {
    cluster_.Submit(*std::move(step.plan),
                    [this](std::vector<RowLogits> rows) { PassDone(std::move(rows)); });
  }
  for (const JobPointer& job : step.done) {
    job->CallDone();
  }
  step.done.clear();
  const std::lock_guard lock(mutex_);
  --running_;
  changed_.notify_all();
}

void Scheduler::PassDone(std::vector<RowLogits> rows) {
  Step step;
  {
    const std::lock_guard lock(mutex_);
    const Clock::time_point now = Clock::now();
    NoteSpeed(now);
    cache_.PassDone();
    std::span<RowLogits> left = rows;
    for (const OfJob& of : std::exchange(riding_, {})) {
      const std::size_t reads = of.run().added_reads();
      Check(reads <= left.size(), "a pass answers each of its reads");
      of.run().Take(left.first(reads));
      left = left.subspan(reads);
      AfterPass(of, now, step);
    }
    Check(left.empty(), "a pass answers its reads only");
    std::erase_if(generating_,
                  [](const OfJob& of) { return of.job->runs[of.sequence] == nullptr; });
    in_flight_ = false;
    FormPass(step);
    ++running_;
  }
  Run(std::move(step));
}

void Scheduler::NoteSpeed(Clock::time_point now) {
  if (pass_rows_ < kRowsToMeasure && seconds_per_row_ != 0) {
    return;  // A step of a few answers says little of a prompt.
  }
  const double seconds_per_row = std::chrono::duration<double>(now - pass_began_).count() /
                                 static_cast<double>(std::max<std::int64_t>(pass_rows_, 1));
  seconds_per_row_ = seconds_per_row_ == 0
                         ? seconds_per_row
                         : seconds_per_row_ * (1 - kNewestShare) + seconds_per_row * kNewestShare;
}

void Scheduler::AfterPass(const OfJob& of, Clock::time_point now, Step& step) {
  ActiveJob& job = *of.job;
  SequenceRun& run = of.run();
  if (run.is_done()) {
    job.rows[of.sequence] = std::move(run.results());
    job.cached_tokens += run.cached_rows();
    job.runs[of.sequence].reset();
    if (--job.unfinished == 0) {
      job.Finish(now);
      step.done.push_back(of.job);
    }
  } else if (run.is_generating()) {
    const auto same = [&](const OfJob& other) {
      return other.job == of.job && other.sequence == of.sequence;
    };
    if (std::none_of(generating_.begin(), generating_.end(), same)) {
      InsertByArrival(of, generating_);
    }
  }
}

}  // namespace scorecast::coordinator

#include "coordinator/schedule/scheduler.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include "coordinator/schedule/active_job.h"
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

proto::Error DeadlinePassed() {
  return {504, "deadline_passed", "The request's deadline passed before all of it was computed.",
          "timeout_ms"};
}

}  // namespace

proto::Error Draining() { return {503, "draining", "The server is shutting down.", ""}; }

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
      if (of.run().has_active_completions()) {  // Of which there is more to come than this pass.
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

void Scheduler::DropFaulty(Clock::time_point now, Step& step) {
  const auto drop = [&](const JobPointer& job) {
    if (!job->error && job->late(now)) {
      job->error = DeadlinePassed();
    }
    // What rides comes back first.
    if (!job->error || job->is_in_pass()) {
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
      const std::size_t reads = of.run().reads_in_pass();
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

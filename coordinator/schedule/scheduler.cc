#include "coordinator/schedule/scheduler.h"

#include <algorithm>
#include <cmath>
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

/// Of the time that a row takes, how much the newest pass says.
constexpr double kNewestShare = 0.2;

proto::Error DeadlinePassed() {
  return {504, "deadline_passed", "The request's deadline passed before it was computed.",
          "timeout_ms"};
}

}  // namespace

proto::Error Draining() { return {503, "draining", "The server is shutting down.", ""}; }

struct Scheduler::ActiveJob {
  Job job;
  Ticket ticket = kNoTicket;    ///< Order of arrival.
  std::vector<PassCost> costs;  ///< [sequences]
  std::vector<std::vector<RowLogits>> rows;
  std::size_t unfinished = 0;     ///< Sequences.
  std::int64_t waiting_rows = 0;  ///< In no pass yet.
  std::optional<Clock::time_point> started;
  Clock::time_point finished;
  std::optional<proto::Error> error;  ///< Dropped, or to be as soon as nothing rides.
  bool dropped = false;
  bool riding = false;  ///< Rows of it are in flight.

  // How far a job of several passes has come: the sequence, and its row, to be computed next.
  std::size_t next_sequence = 0;
  std::int32_t next_row = 0;

  void Finish(Clock::time_point now) { finished = now; }

  bool late(Clock::time_point now) const { return job.deadline && *job.deadline <= now; }

  void CallDone() {
    using Rows = decltype(JobResult::rows);
    auto done = std::move(job.done);
    done(JobResult{error ? Rows(proto::Unexpected(*std::move(error))) : Rows(std::move(rows)),
                   started.value_or(finished), finished});
  }
};

Scheduler::~Scheduler() {
  const std::lock_guard lock(mutex_);
  Check(IsIdle(), "a scheduler is idle when it is destroyed");
}

Scheduler::Ticket Scheduler::Submit(Job job) {
  auto active = std::make_shared<ActiveJob>();
  active->job = std::move(job);
  const auto& sequences = active->job.sequences;
  active->unfinished = sequences.size();
  active->rows.resize(sequences.size());
  PassCost total;
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    Check(!sequences[i].tokens.empty(), "a sequence has rows");
    Check(!CapacityFault(sequences[i], limits()), "a sequence can be computed");
    active->rows[i].resize(sequences[i].reads.size());
    active->costs.push_back(CostOf(sequences[i]));
    total += active->costs.back();
  }
  if (sequences.empty()) {
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
    active->waiting_rows = total.rows;
    waiting_rows_ += total.rows;
    if (FitsPass(total, limits())) {
      for (std::size_t i = 0; i < sequences.size(); ++i) {
        short_.push_back({active, i});
      }
    } else {
      long_.push_back(active);
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
    for (const Waiting& waiting : short_) {
      mark(waiting.job);
    }
    std::for_each(long_.begin(), long_.end(), mark);
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
  return !in_flight_ && running_ == 0 && short_.empty() && long_.empty();
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
  if (short_.empty() && long_.empty()) {
    return;
  }
  const bool long_first =
      !long_.empty() && (short_.empty() || (long_.front()->ticket < short_.front().job->ticket &&
                                            !long_led_last_pass_));
  pass_began_ = now;
  pass_rows_ = 0;
  PassBuilder pass(limits());
  if (long_first) {
    AddLong(pass, now);
    AddShort(pass, now);
  } else {
    AddShort(pass, now);
    AddLong(pass, now);
  }
  long_led_last_pass_ = long_first;
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
    if (!job->error || job->riding) {
      return false;
    }
    if (!job->dropped) {
      job->dropped = true;
      job->Finish(now);
      waiting_rows_ -= job->waiting_rows;
      waiting_jobs_ -= job->started ? 0 : 1;
      step.done.push_back(job);
    }
    return true;
  };
  std::erase_if(short_, [&](const Waiting& waiting) { return drop(waiting.job); });
  std::erase_if(long_, drop);
}

void Scheduler::AddShort(PassBuilder& pass, Clock::time_point now) {
  std::deque<Waiting> still_waiting;
  for (Waiting& waiting : short_) {
    if (pass.full() || !AddWhole(pass, waiting.job, waiting.sequence, now)) {
      still_waiting.push_back(std::move(waiting));
    }
  }
  short_ = std::move(still_waiting);
}

void Scheduler::AddLong(PassBuilder& pass, Clock::time_point now) {
  if (long_.empty()) {
    return;
  }
  const JobPointer job = long_.front();
  const auto& sequences = job->job.sequences;
  bool kept_places_taken = false;
  while (job->next_sequence < sequences.size() && !pass.full()) {
    const std::size_t current = job->next_sequence;
    if (FitsPass(job->costs[current], limits())) {
      if (!AddWhole(pass, job, current, now)) {
        return;
      }
      ++job->next_sequence;
      continue;
    }
    if (kept_places_taken) {
      return;  // They are free again when this pass has ended.
    }
    kept_places_taken = true;
    const PassBuilder::Part part = pass.AddPart(sequences[current], job->next_row);
    if (part.end > job->next_row) {
      Planned(job, part.end - job->next_row, now);
    }
    for (const std::int32_t read : part.reads) {
      targets_.push_back({job, current, static_cast<std::size_t>(read)});
    }
    job->next_row = part.end;
    if (part.end < sequences[current].rows()) {
      return;
    }
    completed_.push_back(job);
    ++job->next_sequence;
    job->next_row = 0;
  }
  if (job->next_sequence == sequences.size()) {
    long_.pop_front();
  }
}

bool Scheduler::AddWhole(PassBuilder& pass, const JobPointer& job, std::size_t sequence,
                         Clock::time_point now) {
  const proto::PackedSequence& packed = job->job.sequences[sequence];
  if (!pass.AddWhole(packed, job->costs[sequence])) {
    return false;
  }
  Planned(job, packed.rows(), now);
  for (std::size_t read = 0; read < packed.reads.size(); ++read) {
    targets_.push_back({job, sequence, read});
  }
  completed_.push_back(job);
  return true;
}

void Scheduler::Planned(const JobPointer& job, std::int64_t rows, Clock::time_point now) {
  if (!job->started) {
    job->started = now;
    --waiting_jobs_;
  }
  job->riding = true;
  riding_.push_back(job);
  job->waiting_rows -= rows;
  waiting_rows_ -= rows;
  pass_rows_ += rows;
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
    Check(rows.size() == targets_.size(), "a pass answers each of its reads");
    for (std::size_t i = 0; i < rows.size(); ++i) {
      ReadTarget& target = targets_[i];
      target.job->rows[target.sequence][target.read] = std::move(rows[i]);
    }
    targets_.clear();
    for (const JobPointer& job : riding_) {
      job->riding = false;
    }
    riding_.clear();
    const Clock::time_point now = Clock::now();
    const double seconds_per_row = std::chrono::duration<double>(now - pass_began_).count() /
                                   static_cast<double>(std::max<std::int64_t>(pass_rows_, 1));
    seconds_per_row_ = seconds_per_row_ == 0
                           ? seconds_per_row
                           : seconds_per_row_ * (1 - kNewestShare) + seconds_per_row * kNewestShare;
    for (JobPointer& job : completed_) {
      if (--job->unfinished == 0) {
        job->Finish(now);
        step.done.push_back(std::move(job));
      }
    }
    completed_.clear();
    in_flight_ = false;
    FormPass(step);
    ++running_;
  }
  Run(std::move(step));
}

}  // namespace scorecast::coordinator

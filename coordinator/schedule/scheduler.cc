#include "coordinator/schedule/scheduler.h"

#include <algorithm>
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

}  // namespace

struct Scheduler::ActiveJob {
  Job job;
  std::uint64_t ticket = 0;     ///< Order of arrival.
  std::vector<PassCost> costs;  ///< [sequences]
  std::vector<std::vector<RowLogits>> rows;
  std::size_t unfinished = 0;     ///< Sequences.
  std::int64_t waiting_rows = 0;  ///< In no pass yet.
  std::optional<Clock::time_point> started;
  Clock::time_point finished;
  std::optional<proto::Error> error;

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
  Check(!in_flight_ && running_ == 0 && short_.empty() && long_.empty(),
        "a scheduler is idle when it is destroyed");
}

void Scheduler::Submit(Job job) {
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
    return;
  }

  Step step;
  {
    const std::lock_guard lock(mutex_);
    active->ticket = next_ticket_++;
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
      return;
    }
    FormPass(step);
    ++running_;
  }
  Run(std::move(step));
}

void Scheduler::WaitForRoom() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return waiting_rows_ <= kPassesAhead * limits().max_rows; });
}

void Scheduler::WaitIdle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock,
                [&] { return !in_flight_ && running_ == 0 && short_.empty() && long_.empty(); });
}

void Scheduler::FormPass(Step& step) {
  const Clock::time_point now = Clock::now();
  DropLate(now, step);
  if (short_.empty() && long_.empty()) {
    return;
  }
  const bool long_first =
      !long_.empty() && (short_.empty() || (long_.front()->ticket < short_.front().job->ticket &&
                                            !long_led_last_pass_));
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

void Scheduler::DropLate(Clock::time_point now, Step& step) {
  const auto drop = [&](const JobPointer& job) {
    if (!job->late(now)) {
      return false;
    }
    if (!job->error) {
      job->error =
          proto::Error{504, "deadline_passed",
                       "The request's deadline passed before it was computed.", "timeout_ms"};
      job->Finish(now);
      waiting_rows_ -= job->waiting_rows;
      step.done.push_back(job);
    }
    return true;
  };
  // No pass is in flight here, so that nothing of a dropped job is still to come.
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
      Planned(*job, part.end - job->next_row, now);
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
  Planned(*job, packed.rows(), now);
  for (std::size_t read = 0; read < packed.reads.size(); ++read) {
    targets_.push_back({job, sequence, read});
  }
  completed_.push_back(job);
  return true;
}

void Scheduler::Planned(ActiveJob& job, std::int64_t rows, Clock::time_point now) {
  job.started = job.started.value_or(now);
  job.waiting_rows -= rows;
  waiting_rows_ -= rows;
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
    const Clock::time_point now = Clock::now();
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

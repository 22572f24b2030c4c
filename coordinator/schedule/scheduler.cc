#include "coordinator/schedule/scheduler.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "coordinator/schedule/active_job.h"
#include "coordinator/schedule/block_cache.h"
#include "coordinator/schedule/pass_planner.h"
#include "coordinator/schedule/scheduler_status.h"
#include "proto/base/check.h"

namespace scorecast::coordinator {

using proto::Check;
using proto::RowLogits;

namespace {

/// See WaitForRoom.
constexpr std::int64_t kPassesAhead = 4;
constexpr std::int64_t kBytesAhead = std::int64_t{256} << 20;

}  // namespace

proto::Error Draining() { return {503, "draining", "The server is shutting down.", ""}; }

struct Scheduler::Step {
  std::optional<proto::ForwardPlan> plan;
  std::optional<PassSummary> ended;
  std::vector<JobPointer> done;
};

Scheduler::Scheduler(proto::Cluster& cluster, SchedulerOptions options)
    : cluster_(cluster),
      options_(std::move(options)),
      planner_(std::make_unique<PassPlanner>(cluster.limits(), options_.cached_pages)),
      model_(options_.time_model) {
  BoundPasses();
}

Scheduler::~Scheduler() {
  const std::lock_guard lock(mutex_);
  Check(IsIdle(), "a scheduler is idle when it is destroyed");
}

BlockCacheCounters Scheduler::cache_counters() const {
  const std::lock_guard lock(mutex_);
  return planner_->cache().counters();
}

SchedulerStatus Scheduler::status() const {
  const std::lock_guard lock(mutex_);
  SchedulerStatus status;
  planner_->AddStatus(status, options_.now());
  status.passes = passes_;
  status.last_pass_rows = planner_->pass_work().rows;
  status.pass_times = {model_.rates(), bound_seconds_, model_.error()};
  return status;
}

std::optional<proto::Error> Scheduler::QueueFault(const ActiveJob& job) const {
  const std::size_t waiting_jobs = planner_->waiting_jobs();
  const JobSize& waiting = planner_->waiting_clients().all().size;
  std::string message;
  const auto exceeds = [](std::int64_t before, std::int64_t more, std::int64_t limit) {
    return std::to_string(before) + " + " + std::to_string(more) + " > " + std::to_string(limit) +
           ".";
  };
  const WaitingJobs own = planner_->waiting_clients().OfAddress(job.path.client);
  const std::int64_t small_tokens = options_.max_queue_tokens / kSmallShare;
  const bool has_small_share =
      own.jobs == 0 || (own.jobs < options_.max_queue / kSmallShare &&
                        own.size.tokens + job.size.tokens <= small_tokens &&
                        own.size.bytes + job.size.bytes <= small_tokens * kQueueBytesPerToken);
  const int times = has_small_share ? 2 : 1;
  const std::int64_t max_tokens = times * options_.max_queue_tokens;
  const std::int64_t max_bytes = max_tokens * kQueueBytesPerToken;
  if (waiting_jobs / static_cast<std::size_t>(times) >= options_.max_queue) {
    message = "Too many requests wait: " + std::to_string(waiting_jobs) + " of at most " +
              std::to_string(static_cast<std::size_t>(times) * options_.max_queue) + ".";
  } else if (waiting_jobs == 0) {
    return std::nullopt;
  } else if (waiting.tokens + job.size.tokens > max_tokens) {
    message = "Too many tokens wait: " + exceeds(waiting.tokens, job.size.tokens, max_tokens);
  } else if (waiting.bytes + job.size.bytes > max_bytes) {
    message = "Too many bytes wait: " + exceeds(waiting.bytes, job.size.bytes, max_bytes);
  } else {
    return std::nullopt;
  }
  return proto::Error{429, "queue_full", std::move(message), "", RetryAfterSeconds()};
}

Scheduler::Ticket Scheduler::Submit(Job job) {
  const auto active = std::make_shared<ActiveJob>(std::move(job), limits(), options_.now());
  if (active->sequences.empty()) {
    active->finished = options_.now();
    active->CallDone();
    return kNoTicket;
  }

  Step step;
  {
    std::unique_lock lock(mutex_);
    active->error = QueueFault(*active);
    if (active->error) {
      lock.unlock();
      active->finished = options_.now();
      active->CallDone();
      return kNoTicket;
    }
    active->ticket = next_ticket_++;
    planner_->Add(active);
    if (planner_->is_pass_in_flight()) {
      return active->ticket;
    }
    FormPass(step);
    ++running_steps_;
  }
  Run(std::move(step));
  return active->ticket;
}

void Scheduler::Cancel(std::vector<Ticket> tickets) {
  if (tickets.empty()) {
    return;
  }
  std::sort(tickets.begin(), tickets.end());
  DropIf(
      [&](const ActiveJob& job) {
        return std::binary_search(tickets.begin(), tickets.end(), job.ticket);
      },
      {499, "client_left", "The client left before its request was computed.", ""});
}

void Scheduler::DropIf(const std::function<bool(const ActiveJob&)>& condition,
                       const proto::Error& error) {
  Step step;
  {
    const std::lock_guard lock(mutex_);
    planner_->ForEachUnfinished([&](ActiveJob& job) {
      if (!job.error && condition(job)) {
        job.error = error;
      }
    });
    step.done = planner_->TakeDropped(options_.now());
    ++running_steps_;
  }
  Run(std::move(step));
}

void Scheduler::FormPass(Step& step) {
  const Clock::time_point now = options_.now();
  for (JobPointer& job : planner_->TakeDropped(now)) {
    step.done.push_back(std::move(job));
  }
  step.plan = planner_->FormPass(now);
  if (step.plan) {
    pass_began_ = now;
    pass_sequences_ = static_cast<std::int64_t>(planner_->sequences_in_pass());
  }
}

void Scheduler::Run(Step step) {
  // The pass goes first, so that the ranks compute while results are handed over.
  if (step.plan) {
    cluster_.Submit(*std::move(step.plan),
                    [this](std::vector<RowLogits> rows) { PassDone(std::move(rows)); });
  }
  if (step.ended) {
    options_.on_pass(*step.ended);
  }
  for (const JobPointer& job : step.done) {
    job->CallDone();
  }
  step.done.clear();
  const std::lock_guard lock(mutex_);
  --running_steps_;
  changed_.notify_all();
}

void Scheduler::PassDone(std::vector<RowLogits> rows) {
  Step step;
  {
    const std::lock_guard lock(mutex_);
    const Clock::time_point now = options_.now();
    const std::chrono::duration<double> took = now - pass_began_;
    model_.Observe(planner_->pass_work(), took.count());
    BoundPasses();
    step.ended = {planner_->pass_work().rows, pass_sequences_, took.count()};
    ++passes_;
    step.done = planner_->PassDone(rows, now);
    FormPass(step);
    ++running_steps_;
  }
  Run(std::move(step));
}

void Scheduler::BoundPasses() {
  const PassRates rates = model_.rates();
  bound_seconds_ = model_.BoundedSeconds(options_.max_pass_seconds, limits().max_rows);
  planner_->SetBudget({rates, std::max(bound_seconds_ - rates.overhead, 0.0)});
}

std::int64_t Scheduler::RetryAfterSeconds() const {
  const double seconds = model_.rates().Seconds(planner_->work_left());
  return static_cast<std::int64_t>(std::clamp(std::ceil(seconds), 1.0, 60.0));
}

bool Scheduler::IsIdle() const {
  return !planner_->is_pass_in_flight() && running_steps_ == 0 && planner_->is_queue_empty();
}

void Scheduler::WaitForRoom() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    return planner_->waiting_rows() <= kPassesAhead * limits().max_rows &&
           (planner_->waiting_jobs() == 0 || planner_->bytes() <= kBytesAhead);
  });
}

void Scheduler::WaitIdle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return IsIdle(); });
}

bool Scheduler::WaitIdleFor(Clock::duration time) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, time, [&] { return IsIdle(); });
}

}  // namespace scorecast::coordinator

#include "coordinator/schedule/queue/scheduler.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "coordinator/schedule/pages/block_cache.h"
#include "coordinator/schedule/queue/active_job.h"
#include "coordinator/schedule/queue/pass_planner.h"
#include "coordinator/schedule/queue/scheduler_status.h"
#include "proto/base/check.h"

namespace scorecast::coordinator {

using proto::Check;
using proto::RowLogits;

namespace {

/// See WaitForRoom.
constexpr std::int64_t kPassesAhead = 4;
constexpr std::int64_t kBytesAhead = std::int64_t{256} << 20;

}  // namespace

proto::Error Draining() {
  return {503, "draining", "The server is shutting down.", "", /*retry_after_seconds=*/1};
}

struct Scheduler::Step {
  std::optional<proto::ForwardPlan> plan;
  std::optional<PassSummary> ended;
  std::vector<JobPointer> done;
};

Scheduler::Scheduler(proto::Cluster& cluster, SchedulerOptions options)
    : cluster_(cluster),
      options_(std::move(options)),
      planner_(std::make_unique<PassPlanner>(cluster.limits(), options_.cached_pages)),
      admission_({.max_jobs = options_.max_queue,
                  .max_tokens = options_.max_queue_tokens,
                  .max_wait_seconds = options_.max_wait_seconds}),
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

std::optional<proto::Error> Scheduler::QueueFault(const ActiveJob& job, const JobWork& work,
                                                  std::uint64_t digest) {
  const Clock::time_point now = options_.now();
  const ClientId& client = job.path.client;
  const WaitingClients& waiting = planner_->waiting_clients();
  const NewJob new_job = {.client = client,
                          .digest = digest,
                          .size = job.size,
                          .forecast = planner_->ForecastFor(job.path, work),
                          .deadline = job.given.deadline,
                          .max_wait_seconds = job.given.max_wait_seconds,
                          .max_client_tokens = job.given.max_client_tokens};
  double pass_seconds = 0;
  if (planner_->is_pass_in_flight()) {
    const std::chrono::duration<double> elapsed = now - pass_began_;
    pass_seconds = std::max(model_.Seconds(planner_->pass_work()) - elapsed.count(), 0.0);
  }
  QueueState queue = {.all = waiting.all(),
                      .of_network = waiting.OfNetwork(client),
                      .of_address = waiting.OfAddress(client),
                      .of_connection = waiting.OfConnection(client),
                      .forecast = planner_->LongestForecast()};
  queue.forecast.pass_seconds = pass_seconds;
  if (admission_.IsAdmitted(new_job, queue, now)) {
    return std::nullopt;
  }
  queue.forecast = planner_->ForecastFor(job.path);
  queue.forecast.pass_seconds = pass_seconds;
  return admission_.Fault(new_job, queue, now);
}

Scheduler::Ticket Scheduler::Submit(Job job) {
  const std::uint64_t digest = DigestOf(job.sequences);
  const auto active = std::make_shared<ActiveJob>(std::move(job), limits(), options_.now());
  if (active->sequences.empty()) {
    active->result.finished = options_.now();
    active->CallDone();
    return kNoTicket;
  }

  Step step;
  {
    std::unique_lock lock(mutex_);
    const JobWork work = planner_->Measure(active);
    active->error = stops_ ? Draining() : QueueFault(*active, work, digest);
    if (active->error) {
      lock.unlock();
      active->result.finished = options_.now();
      active->CallDone();
      return kNoTicket;
    }
    active->ticket = next_ticket_++;
    planner_->Add(active, work);
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
  std::ranges::sort(tickets);
  const proto::Error left = {499, "client_left", "The client left before its request was computed.",
                             ""};
  DropFailed([&] { planner_->Fail(tickets, left); });
}

void Scheduler::StopAfterPass() {
  DropFailed([&] {
    stops_ = true;
    planner_->FailAll(Draining());
  });
}

void Scheduler::DropFailed(const std::function<void()>& fail) {
  Step step;
  {
    const std::lock_guard lock(mutex_);
    fail();
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
  // What is left when no pass is formed any more has an error, and was dropped.
  step.plan = stops_ ? std::nullopt : planner_->FormPass(now);
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

std::vector<TokenChooser::Choice> Scheduler::ChooseTokens(std::span<const RowLogits> rows) {
  // What is in the pass in flight changes only when a pass is formed or has ended, so this needs no
  // lock.
  const auto completions = planner_->RowsOfCompletions(rows);
  cluster_.ParallelFor(std::ssize(completions), [&](std::int64_t i) {
    const auto& [chooser, row] = completions[static_cast<std::size_t>(i)];
    chooser->Choose(*row);
  });
  std::vector<TokenChooser::Choice> choices;
  choices.reserve(completions.size());
  for (const auto& [chooser, row] : completions) {
    choices.push_back(chooser->Take(*row));
  }
  return choices;
}

void Scheduler::PassDone(std::vector<RowLogits> rows) {
  const std::vector<TokenChooser::Choice> choices = ChooseTokens(rows);
  Step step;
  {
    const std::lock_guard lock(mutex_);
    const Clock::time_point now = options_.now();
    const std::chrono::duration<double> took = now - pass_began_;
    // A step of little work is not like a pass of few rows, most of whose time is that of reading
    // all weights.
    if (!planner_->is_step() || planner_->pass_work().rows > PassTimeModel::kFewRows) {
      model_.Observe(planner_->pass_work(), took.count());
      BoundPasses();
    }
    step.ended = {planner_->pass_work().rows, pass_sequences_, took.count()};
    ++passes_;
    step.done = planner_->PassDone(rows, choices, now);
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

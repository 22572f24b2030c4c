#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <future>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/schedule/queue/scheduler.h"
#include "tests/coordinator/fake_cluster.h"
#include "tests/coordinator/schedule/sample_requests.h"

namespace scorecast::coordinator {

/// A request that was submitted.
class Pending {
 public:
  Pending(Scheduler& scheduler, Request request);

  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;

  Scheduler::Ticket ticket() const { return ticket_; }
  /// Waits for the result, which must be that of the request computed alone.
  JobResult ExpectComputed();
  /// The same, but the request may have been cancelled.
  void ExpectComputedOrCancelled();
  /// Waits for the result, which must be an error.
  proto::Error Refusal();
  /// When the last pass of a computed request ended. Later passes end later.
  Clock::time_point finished() const { return finished_; }
  /// Number of requests that were done before it. It is computed.
  int order() const { return order_; }

 private:
  Request request_;
  std::promise<JobResult> promise_;
  std::future<JobResult> result_;
  Scheduler::Ticket ticket_ = Scheduler::kNoTicket;
  Clock::time_point finished_;
  int order_ = 0;
};

/// Waits for the results of several requests: see Pending::ExpectComputed.
void ExpectAllComputed(std::initializer_list<Pending*> requests);

/// Several requests with stable addresses.
using ManyPending = std::deque<Pending>;

/// A scheduler on a FakeCluster. Scored prompts have names, by which the rows of a pass are told
/// apart: each prompt is one token, repeated.
class SchedulerBench {
 public:
  /// Consecutive rows of one prompt: the name of its job, and how many.
  using Rows = std::pair<std::string, int>;
  using Pass = std::vector<Rows>;

  explicit SchedulerBench(const proto::PlanLimits& limits, SchedulerOptions options = {})
      : cluster(limits, kVocabSize), scheduler(cluster, options) {}
  /// Waits until the scheduler is idle.
  ~SchedulerBench() {
    cluster.Release();
    scheduler.WaitIdle();
  }

  /// Submits a job of one scored prompt for each number of rows. Jobs of the same name have the
  /// same prompts.
  Pending& Score(const std::string& name, const std::vector<int>& rows,
                 const ClientId& client = {});

  /// Every pass so far, as the named rows that it computes. There must be no others.
  std::vector<Pass> Passes() const;
  /// Number of rows of a job's first prompt in each pass.
  std::vector<std::ptrdiff_t> RowsInPasses(const std::string& name) const;
  /// The first and the last pass with at least this many of these rows; -1 if there is none.
  std::ptrdiff_t FirstPassWith(const std::string& name, int rows) const;
  std::ptrdiff_t LastPassWith(const std::string& name, int rows) const;

  /// Waits until nothing is left to compute, then scores a prompt that needs every page.
  void ExpectAllPagesAreFree();

  FakeCluster cluster;
  Scheduler scheduler;

 private:
  std::map<std::pair<std::string, std::size_t>, proto::TokenId> tokens_;  // [job, prompt]
  std::deque<Pending> scores_;
};

/// Chooses as another chooser does. After a number of choices it holds the cluster, so the next
/// pass is formed and then waits.
class HoldingChooser : public TokenChooser {
 public:
  HoldingChooser(std::shared_ptr<TokenChooser> other, FakeCluster& cluster, int choices)
      : other_(std::move(other)), cluster_(cluster), choices_left_(choices) {}

  proto::RowRead Wanted() const override { return other_->Wanted(); }
  const proto::LabelList& Labels() const override { return other_->Labels(); }
  Choice Take(const proto::RowLogits& row) override;
  void WaitUntilHeld();

 private:
  std::shared_ptr<TokenChooser> other_;
  FakeCluster& cluster_;
  int choices_left_;
  std::promise<void> held_;
};

/// A completion of a short prompt, submitted. The cluster is held after `held_after` of its steps.
class HeldCompletion : public Pending {
 public:
  HeldCompletion(SchedulerBench& bench, std::int64_t tokens, int held_after);

  /// Returns when the next pass is formed and the cluster holds it.
  void WaitUntilHeld() { chooser_->WaitUntilHeld(); }
  /// Number of passes formed by then if the completion runs alone.
  std::size_t passes_when_held() const { return passes_when_held_; }

 private:
  HeldCompletion(SchedulerBench& bench, Request request, int held_after);
  HeldCompletion(SchedulerBench& bench, Request request, std::shared_ptr<HoldingChooser> chooser,
                 int held_after);

  std::shared_ptr<HoldingChooser> chooser_;
  std::size_t passes_when_held_;
};

}  // namespace scorecast::coordinator

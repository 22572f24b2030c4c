#pragma once

#include <algorithm>
#include <cstddef>
#include <future>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "coordinator/schedule/scheduler.h"
#include "tests/coordinator/fake_cluster.h"
#include "tests/coordinator/schedule/sample_requests.h"

namespace scorecast::coordinator {

/// Chooses as another does, and holds the cluster when it has been asked so often: the pass that
/// follows is formed, and waits.
class HoldingChooser : public TokenChooser {
 public:
  HoldingChooser(std::shared_ptr<TokenChooser> other, FakeCluster& cluster, int takes)
      : other_(std::move(other)), cluster_(cluster), takes_left_(takes) {}

  proto::RowRead Wanted() const override { return other_->Wanted(); }
  Choice Take(const proto::RowLogits& row) override {
    if (--takes_left_ == 0) {
      cluster_.Hold();
      held_.set_value();
    }
    return other_->Take(row);
  }
  void WaitUntilHeld() { held_.get_future().wait(); }

 private:
  std::shared_ptr<TokenChooser> other_;
  FakeCluster& cluster_;
  int takes_left_;
  std::promise<void> held_;
};

/// A request that was submitted.
class Pending {
 public:
  Pending(Scheduler& scheduler, Request request,
          std::optional<Clock::time_point> deadline = std::nullopt)
      : request_(std::move(request)), result_(promise_.get_future()) {
    Job job = request_.MakeJob([this](JobResult result) { promise_.set_value(std::move(result)); });
    job.deadline = deadline;
    ticket_ = scheduler.Submit(std::move(job));
  }
  Scheduler::Ticket ticket() const { return ticket_; }
  /// When its last pass ended; for one that was answered. Later passes end later.
  Clock::time_point finished() const { return finished_; }
  JobResult ExpectAnswer() {
    JobResult result = result_.get();
    ExpectResult(request_, result);
    finished_ = result.finished;
    return result;
  }
  void ExpectAnswerOrCancelled() {
    const JobResult result = result_.get();
    if (result.rows.has_value()) {
      ExpectResult(request_, result);
    } else {
      EXPECT_EQ(result.rows.error().code, 499);
    }
  }
  int RefusalCode() {
    const JobResult result = result_.get();
    return result.rows.has_value() ? 200 : result.rows.error().code;
  }

 private:
  Request request_;
  std::promise<JobResult> promise_;
  std::future<JobResult> result_;
  Scheduler::Ticket ticket_ = Scheduler::kNoTicket;
  Clock::time_point finished_;
};

using ManyPending = std::vector<std::unique_ptr<Pending>>;

/// A scored prompt, all of one token.
inline Request Score(int rows, proto::TokenId token) {
  proto::PackedSequence sequence;
  sequence.label_lists = {{1, 2}};
  Append(sequence, proto::SegmentKind::kPrefix,
         std::vector<proto::TokenId>(static_cast<std::size_t>(rows), token), 0);
  ReadLast(sequence);
  return {.sequences = {sequence}};
}

/// An answer to a short prompt, in the course of which the cluster is held.
struct HeldAnswer {
  HeldAnswer(FakeCluster& cluster, std::int64_t tokens, int takes, int text = 50)
      : request(PlainRequest(Text(text, 3), {tokens})),
        chooser(std::make_shared<HoldingChooser>(request.choosers.front(), cluster, takes)),
        passes(static_cast<std::size_t>(takes) + 1) {
    request.generations.front().chooser = chooser;
  }
  Request request;
  std::shared_ptr<HoldingChooser> chooser;
  std::size_t passes;  ///< That are formed before it is released, where it is alone.
};

/// Of the passes from `first` on, the first that computes this token so often.
inline std::ptrdiff_t PassOf(const FakeCluster& cluster, proto::TokenId token, int rows,
                             std::size_t first = 0) {
  const auto plans = cluster.plans();
  const auto found = std::find_if(
      plans.begin() + static_cast<std::ptrdiff_t>(first), plans.end(), [&](const auto& plan) {
        return std::count(plan.tokens.begin(), plan.tokens.end(), token) >= rows;
      });
  return found == plans.end() ? -1 : found - plans.begin();
}

inline std::ptrdiff_t LastPassOf(const FakeCluster& cluster, proto::TokenId token, int rows) {
  std::ptrdiff_t last = -1;
  for (std::ptrdiff_t next = PassOf(cluster, token, rows); next >= 0;
       next = PassOf(cluster, token, rows, static_cast<std::size_t>(last + 1))) {
    last = next;
  }
  return last;
}

/// A prompt that needs every page there is.
inline void ExpectAllPagesAreFree(Scheduler& scheduler) {
  Pending all(scheduler, Score(scheduler.limits().kept_kv_rows, 9));
  all.ExpectAnswer();
  scheduler.WaitIdle();
}

}  // namespace scorecast::coordinator

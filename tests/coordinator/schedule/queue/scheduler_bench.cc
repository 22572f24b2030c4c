#include "tests/coordinator/schedule/queue/scheduler_bench.h"

#include <algorithm>
#include <atomic>

#include <gtest/gtest.h>

namespace scorecast::coordinator {

Pending::Pending(Scheduler& scheduler, Request request)
    : request_(std::move(request)), result_(promise_.get_future()) {
  Job job = request_.MakeJob([this](JobResult result) {
    static std::atomic<int> done = 0;
    order_ = done++;
    promise_.set_value(std::move(result));
  });
  ticket_ = scheduler.Submit(std::move(job));
}

JobResult Pending::ExpectComputed() {
  JobResult result = result_.get();
  ExpectResult(request_, result);
  finished_ = result.finished;
  return result;
}

void Pending::ExpectComputedOrCancelled() {
  const JobResult result = result_.get();
  if (result.rows.has_value()) {
    ExpectResult(request_, result);
  } else {
    EXPECT_EQ(result.rows.error().code, 499);
  }
}

proto::Error Pending::Refusal() {
  const JobResult result = result_.get();
  EXPECT_FALSE(result.rows.has_value());
  return result.rows.has_value() ? proto::Error{} : result.rows.error();
}

void ExpectAllComputed(std::initializer_list<Pending*> requests) {
  for (Pending* request : requests) {
    request->ExpectComputed();
  }
}

Pending& SchedulerBench::Score(const std::string& name, const std::vector<int>& rows,
                               const ClientId& client) {
  Request request;
  request.client = client;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto unused = static_cast<proto::TokenId>(kVocabSize - 2 - tokens_.size());
    const proto::TokenId token = tokens_.try_emplace({name, i}, unused).first->second;
    request.sequences.push_back(ScoredPrompt(rows[i], token));
  }
  return scores_.emplace_back(scheduler, std::move(request));
}

std::vector<SchedulerBench::Pass> SchedulerBench::Passes() const {
  std::map<proto::TokenId, std::string> names;
  for (const auto& [prompt, token] : tokens_) {
    names[token] = prompt.first;
  }
  std::vector<Pass> passes;
  for (const proto::ForwardPlan& plan : cluster.plans()) {
    Pass& pass = passes.emplace_back();
    for (auto token = plan.tokens.begin(); token != plan.tokens.end();) {
      const auto end = std::find_if(token, plan.tokens.end(),
                                    [&](proto::TokenId other) { return other != *token; });
      pass.emplace_back(names.at(*token), static_cast<int>(end - token));
      token = end;
    }
  }
  return passes;
}

std::vector<std::ptrdiff_t> SchedulerBench::RowsInPasses(const std::string& name) const {
  const proto::TokenId token = tokens_.at({name, 0});
  std::vector<std::ptrdiff_t> rows;
  for (const proto::ForwardPlan& plan : cluster.plans()) {
    rows.push_back(std::count(plan.tokens.begin(), plan.tokens.end(), token));
  }
  return rows;
}

std::ptrdiff_t SchedulerBench::FirstPassWith(const std::string& name, int rows) const {
  const std::vector<std::ptrdiff_t> in_passes = RowsInPasses(name);
  const auto found = std::find_if(in_passes.begin(), in_passes.end(),
                                  [&](std::ptrdiff_t in_pass) { return in_pass >= rows; });
  return found == in_passes.end() ? -1 : found - in_passes.begin();
}

std::ptrdiff_t SchedulerBench::LastPassWith(const std::string& name, int rows) const {
  const std::vector<std::ptrdiff_t> in_passes = RowsInPasses(name);
  const auto found = std::find_if(in_passes.rbegin(), in_passes.rend(),
                                  [&](std::ptrdiff_t in_pass) { return in_pass >= rows; });
  return in_passes.rend() - found - 1;
}

void SchedulerBench::ExpectAllPagesAreFree() {
  scheduler.WaitIdle();
  const std::int32_t rows = scheduler.limits().kept_kv_rows;
  Pending(scheduler, {.sequences = {ScoredPrompt(rows, /*token=*/9)}}).ExpectComputed();
  scheduler.WaitIdle();
}

TokenChooser::Choice HoldingChooser::Take(const proto::RowLogits& row) {
  if (--choices_left_ == 0) {
    cluster_.Hold();
    held_.set_value();
  }
  return other_->Take(row);
}

void HoldingChooser::WaitUntilHeld() {
  held_.get_future().wait();
  while (!cluster_.next()) {  // The next pass is formed after the choice.
    std::this_thread::yield();
  }
}

namespace {

Request ChosenBy(const std::shared_ptr<HoldingChooser>& chooser, Request request) {
  request.generations[0].chooser = chooser;
  return request;
}

}  // namespace

HeldCompletion::HeldCompletion(SchedulerBench& bench, std::int64_t tokens, int held_after)
    : HeldCompletion(bench, PlainRequest(Text(50, 3), {tokens}), held_after) {}

HeldCompletion::HeldCompletion(SchedulerBench& bench, Request request, int held_after)
    : HeldCompletion(
          bench, request,
          std::make_shared<HoldingChooser>(request.choosers[0], bench.cluster, held_after),
          held_after) {}

HeldCompletion::HeldCompletion(SchedulerBench& bench, Request request,
                               std::shared_ptr<HoldingChooser> chooser, int held_after)
    : Pending(bench.scheduler, ChosenBy(chooser, std::move(request))),
      chooser_(std::move(chooser)),
      passes_when_held_(static_cast<std::size_t>(held_after) + 1) {}

}  // namespace scorecast::coordinator

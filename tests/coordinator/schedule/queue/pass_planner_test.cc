// The planner when the predicted times of passes change.

#include "coordinator/schedule/queue/pass_planner.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "coordinator/schedule/clock.h"
#include "tests/coordinator/schedule/sample_requests.h"

namespace scorecast::coordinator {
namespace pass_planner_test {

using proto::PlanLimits;

class Planner {
 public:
  explicit Planner(const PlanLimits& limits) : limits_(limits), planner_(limits_, /*cached=*/8) {}

  /// A pass computes as many rows as this within its bound.
  void SetRowsOfAPass(int rows) {
    planner_.SetBudget({.rates = {.row = 1.0 / rows}, .seconds = 1});
  }

  /// A prompt of a client of its own.
  void Add(int rows) {
    const auto number = static_cast<int>(jobs_.size());
    Job job;
    job.sequences.push_back(ScoredPrompt(rows, number % static_cast<int>(kVocabSize)));
    job.client = {"address " + std::to_string(number), 0};
    job.done = [](const JobResult&) {};
    jobs_.push_back(std::make_shared<ActiveJob>(std::move(job), limits_, Clock::time_point()));
    jobs_.back()->ticket = ++ticket_;
    planner_.Add(jobs_.back(), planner_.Measure(jobs_.back()));
  }

  /// The rows of a pass, which is then over.
  std::size_t Pass() {
    const std::optional<proto::ForwardPlan> plan = planner_.FormPass(Clock::time_point());
    if (!plan) {
      return 0;
    }
    std::vector<proto::RowLogits> rows(plan->reads.size());
    for (const JobPointer& job : planner_.PassDone(rows, {}, Clock::time_point())) {
      done_.push_back(job->ticket);
    }
    return plan->tokens.size();
  }

  const std::vector<JobTicket>& done() const { return done_; }

 private:
  const PlanLimits limits_;
  PassPlanner planner_;
  std::vector<JobPointer> jobs_;
  std::vector<JobTicket> done_;
  JobTicket ticket_ = 0;
};

TEST(PassPlanner, ManyPromptsThatMustNowWaitForPagesDoNotHideTheOneThatHasThem) {
  Planner planner({.max_rows = 400,
                   .max_reads = 64,
                   .pass_kv_rows = 4096,
                   .kept_kv_rows = 20 * proto::kKvPageRows});
  planner.SetRowsOfAPass(100);
  planner.Add(19 * proto::kKvPageRows);  // Takes nearly all pages.
  for (int pass = 0; pass < 6; ++pass) {
    ASSERT_GT(planner.Pass(), 0u);
  }
  constexpr int kOthers = 200;
  for (int i = 0; i < kOthers; ++i) {
    planner.Add(90);  // Fits a pass, and needs no pages.
  }
  // Now it does not fit any more.
  planner.SetRowsOfAPass(10);
  int passes = 0;
  while (planner.Pass() > 0) {
    ASSERT_LT(++passes, 10'000);
  }
  EXPECT_EQ(planner.done().size(), 1u + kOthers);
}

}  // namespace pass_planner_test
}  // namespace scorecast::coordinator

// A request's numbers and tokens have the same bits however the scheduler cuts it over passes, and
// whatever else it computes meanwhile: passes bounded in time, pages cached, copied and taken away.

#include <cstdint>
#include <deque>
#include <filesystem>
#include <optional>
#include <random>
#include <string_view>
#include <tuple>
#include <utility>

#include <gtest/gtest.h>

#include "coordinator/schedule/queue/scheduler.h"
#include "proto/plan/cluster.h"
#include "tests/coordinator/schedule/random_jobs.h"
#include "tests/mpi/engine_harness.h"
#include "tests/reference/directories.h"
#include "tests/reference/golden_directories.h"

namespace scorecast::testing {
namespace engine_schedule_test {

using coordinator::Clock;
using coordinator::Job;
using coordinator::JobResult;
using coordinator::JobTicket;
using coordinator::RandomJob;
using coordinator::RandomJobMaker;
using coordinator::Scheduler;
using coordinator::SchedulerOptions;
using proto::RowLogits;
using shard::Precision;

/// The engine as a cluster that computes a plan when it is told to. On rank 0.
class EngineCluster : public proto::Cluster {
 public:
  EngineCluster(Engine& engine, const proto::PlanLimits& limits)
      : engine_(engine), limits_(limits) {}

  void Submit(proto::ForwardPlan plan, PlanDone done) override {
    queue_.emplace_back(std::move(plan), std::move(done));
  }
  const proto::PlanLimits& limits() const override { return limits_; }
  proto::ClusterStatus Status() const override { return {}; }

  /// False if there is no plan.
  bool ComputeNext() {
    if (queue_.empty()) {
      return false;
    }
    const auto [plan, done] = std::move(queue_.front());
    queue_.pop_front();
    done(engine_.Run(plan));
    return true;
  }

 private:
  Engine& engine_;
  const proto::PlanLimits limits_;
  std::deque<std::pair<proto::ForwardPlan, PlanDone>> queue_;
};

/// A job that is submitted, and its result.
struct Submitted {
  explicit Submitted(const RandomJob& same) : job(same.Again()) {}

  JobTicket SubmitTo(Scheduler& scheduler, coordinator::ClientId client = {}) {
    Job made = job.MakeJob([this](JobResult found) { result = std::move(found); });
    made.client = std::move(client);
    return scheduler.Submit(std::move(made));
  }

  RandomJob job;
  std::optional<JobResult> result;
};

/// Passes seem to take no time, so the rates stay as given.
SchedulerOptions WithoutClock(SchedulerOptions options) {
  options.now = [] { return Clock::time_point(); };
  return options;
}

void ExpectSame(const Submitted& found, const Submitted& expected) {
  ASSERT_TRUE(found.result && found.result->rows.has_value());
  const auto& rows = found.result->rows.value();
  const auto& expected_rows = expected.result->rows.value();
  ASSERT_EQ(rows.size(), expected_rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ASSERT_EQ(rows[i].size(), expected_rows[i].size());
    for (std::size_t j = 0; j < rows[i].size(); ++j) {
      EXPECT_TRUE(SameBits(rows[i][j], expected_rows[i][j])) << "sequence " << i << ", read " << j;
    }
  }
  for (std::size_t i = 0; i < found.job.choosers.size(); ++i) {
    EXPECT_EQ(found.job.choosers[i]->tokens(), expected.job.choosers[i]->tokens());
  }
}

/// Every family in every precision.
class EngineSchedule : public ::testing::TestWithParam<std::tuple<Precision, std::string_view>> {
 protected:
  int Pick(int low, int high) { return std::uniform_int_distribution(low, high)(random_); }

  proto::PlanLimits RandomLimits() {
    proto::PlanLimits limits = engine_.limits();
    limits.max_rows = Pick(1, 3) == 1 ? Pick(5, 40) : Pick(40, 300);
    limits.kept_kv_rows = proto::kKvPageRows * Pick(6, 40);
    return limits;
  }

  /// Passes are bounded by rows or by keys; in the latter case, passes of late rows are smaller.
  SchedulerOptions RandomOptions(const proto::PlanLimits& limits) {
    SchedulerOptions options;
    options.cached_pages = Pick(0, 2) * limits.kept_kv_rows / proto::kKvPageRows / 2;
    options.time_model = coordinator::PassTimeModel(
        coordinator::PassRates{.row = 1, .key = Pick(0, 1) == 0 ? 0 : 0.05});
    options.max_pass_seconds = Pick(0, 4) == 0 ? 1e-9 : Pick(33, 150);
    return WithoutClock(options);
  }

  RandomJob RandomJobWithWeighting(RandomJobMaker& maker) {
    RandomJob job = maker.Make();
    for (proto::PackedSequence& sequence : job.sequences) {
      if (Pick(0, 2) == 0) {
        sequence.block_weighting = {0.7F, 1.4F};
      }
    }
    return job;
  }

  /// The job's results if it is computed alone, in passes that are as large as possible.
  Submitted Alone(const RandomJob& job) {
    EngineCluster cluster(engine_, engine_.limits());
    Scheduler scheduler(cluster, WithoutClock({}));
    Submitted alone(job);
    alone.SubmitTo(scheduler);
    while (cluster.ComputeNext()) {
    }
    return alone;
  }

  Engine engine_{std::filesystem::path(reference::kTestsDirectory) / "golden/families" /
                     std::get<1>(GetParam()),
                 {.precision = std::get<0>(GetParam())}};
  std::mt19937_64 random_{20261123};
};

TEST_P(EngineSchedule, CutsAndCompanyChangeNothing) {
  if (!engine_.is_root()) {
    engine_.runner().Follow();
    return;
  }
  for (int round = 0; round < 4; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const proto::PlanLimits limits = RandomLimits();
    RandomJobMaker maker(random_(), limits);
    std::deque<Submitted> expected;  // Before the others, because there is one K/V storage.
    for (int i = 0; i < 10; ++i) {
      expected.push_back(Alone(RandomJobWithWeighting(maker)));
    }
    std::deque<Submitted> together;
    EngineCluster cluster(engine_, limits);
    Scheduler scheduler(cluster, RandomOptions(limits));
    for (const Submitted& alone : expected) {
      const std::uint64_t connection = together.size() % 3;
      together.emplace_back(alone.job).SubmitTo(scheduler, {"address", connection});
      // Another job is dropped while it is computed.
      Submitted dropped(RandomJobWithWeighting(maker));
      const JobTicket ticket = dropped.SubmitTo(scheduler, {"other address"});
      for (int passes = Pick(0, 4); passes > 0; --passes) {
        cluster.ComputeNext();
      }
      scheduler.Cancel({ticket});
      while (!dropped.result) {
        ASSERT_TRUE(cluster.ComputeNext());
      }
    }
    while (cluster.ComputeNext()) {
    }
    for (std::size_t i = 0; i < together.size(); ++i) {
      SCOPED_TRACE("job " + std::to_string(i));
      ExpectSame(together[i], expected[i]);
    }
  }
  engine_.runner().StopFollowers();
}

INSTANTIATE_TEST_SUITE_P(All, EngineSchedule,
                         ::testing::Combine(::testing::Values(Precision::kFloat32,
                                                              Precision::kBfloat16,
                                                              Precision::kInt8),
                                            ::testing::ValuesIn(reference::kEachFamily)),
                         [](const auto& test) {
                           return PrecisionAndFamily(std::get<0>(test.param),
                                                     std::get<1>(test.param));
                         });

}  // namespace engine_schedule_test
}  // namespace scorecast::testing

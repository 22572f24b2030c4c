#include "coordinator/schedule/pass_calibration.h"

#include <chrono>
#include <future>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/coordinator/fake_cluster.h"

namespace scorecast::coordinator {
namespace pass_calibration_test {

using ::testing::ElementsAre;

constexpr proto::PlanLimits kLimits{.max_rows = 8192, .max_reads = 1024, .pass_kv_rows = 32768};

proto::ModelConfig TinyModel() {
  proto::ModelConfig config;
  config.hidden_size = 64;
  config.num_attention_heads = 4;
  config.num_key_value_heads = 2;
  config.head_dim = 16;
  config.intermediate_size = 128;
  config.vocab_size = 100;
  config.max_position_embeddings = 4096;
  config.layers.resize(2);
  return config;
}

/// Computes plans on a virtual clock.
struct Machine {
  double pass = 0.001;
  double row = 0.0001;

  PassCalibration Calibrate(const proto::ModelConfig& config,
                            const proto::PlanLimits& limits = kLimits) {
    FakeCluster checks(limits, config.vocab_size);
    return CalibratePassTime(
        config, limits,
        [&](const proto::ForwardPlan& plan) {
          rows.push_back(plan.tokens.size());
          sequences.push_back(plan.sequences.size());
          const double seconds = pass + row * static_cast<double>(plan.tokens.size());
          time +=
              std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
          std::promise<void> done;
          checks.Submit(plan, [&](const auto&) { done.set_value(); });
          done.get_future().wait();
        },
        [&] { return time; });
  }

  Clock::time_point time;
  std::vector<std::size_t> rows;       ///< Of each computed plan.
  std::vector<std::size_t> sequences;  ///< Of each computed plan.
};

TEST(PassCalibration, MeasuresPassesOfRisingSizes) {
  Machine machine;
  const PassCalibration calibration = machine.Calibrate(TinyModel());
  EXPECT_THAT(machine.rows, ElementsAre(1, 1, 32, 32, 128, 128, 512, 512));
  EXPECT_THAT(machine.sequences, ElementsAre(1, 1, 1, 2, 1, 8, 1, 32));
  EXPECT_EQ(calibration.passes, 8);
  const double seconds = 8 * machine.pass + 1346 * machine.row;
  EXPECT_NEAR(calibration.seconds, seconds, 1e-6);
  // The passes are exact. The prior is far from them, so that the first predictions are off by up
  // to 100 % and the prior weighs about as much as a few of the eight passes at first.
  for (const std::int64_t rows : {1, 32, 512}) {
    const double expected = machine.pass + machine.row * static_cast<double>(rows);
    EXPECT_NEAR(calibration.time_model.Seconds({.rows = rows}), expected, 0.05 * expected) << rows;
  }
}

TEST(PassCalibration, EndsAfterASecond) {
  Machine machine{.pass = 0.03, .row = 0.002};
  const PassCalibration calibration = machine.Calibrate(TinyModel());
  EXPECT_THAT(machine.rows, ElementsAre(1, 1, 32, 32, 128, 128)) << "512 rows take a second";
  EXPECT_LT(calibration.seconds, 1);
}

TEST(PassCalibration, OfASlowMachineIsTheLeastThatTellsRowsFromOverhead) {
  Machine machine{.pass = 3, .row = 0.1};
  const PassCalibration calibration = machine.Calibrate(TinyModel());
  EXPECT_THAT(machine.rows, ElementsAre(1, 64));
  EXPECT_NEAR(calibration.seconds, 3.1 + 9.4, 1e-6);
}

TEST(PassCalibration, StaysWithinLimitsAndPositions) {
  proto::ModelConfig config = TinyModel();
  config.max_position_embeddings = 8;
  Machine machine;
  machine.Calibrate(config);
  EXPECT_THAT(machine.sequences, ElementsAre(1, 1, 4, 4, 16, 16, 64, 64));

  Machine small;
  small.Calibrate(TinyModel(), {.max_rows = 100, .max_reads = 1, .pass_kv_rows = 128});
  EXPECT_THAT(small.rows, ElementsAre(1, 1, 32, 16, 64)) << "one read";
}

TEST(PassCalibration, OfAClassifierReadsAClass) {
  proto::ModelConfig config = TinyModel();
  config.num_labels = 1;
  Machine machine;
  EXPECT_EQ(machine.Calibrate(config).passes, 8);
}

TEST(PassCalibration, OfAClockThatStandsStillIsAnUncalibratedModel) {
  Machine machine{.pass = 0, .row = 0};
  const PassCalibration calibration = machine.Calibrate(TinyModel());
  EXPECT_EQ(calibration.seconds, 0);
  EXPECT_EQ(calibration.time_model.Seconds({.rows = 1}), PassTimeModel().Seconds({.rows = 1}));
}

}  // namespace pass_calibration_test
}  // namespace scorecast::coordinator

#include "coordinator/schedule/pass/pass_calibration.h"

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
  double label = 1e-7;
  double product = 1e-6;
  double top = 1e-5;
  double draw = 1e-4;

  PassCalibration Calibrate(const proto::ModelConfig& config,
                            const proto::PlanLimits& limits = kLimits) {
    FakeCluster checks(limits, config.vocab_size);
    return CalibratePassTime(
        config, limits,
        [&](const proto::ForwardPlan& plan) {
          rows.push_back(plan.tokens.size());
          sequences.push_back(plan.sequences.size());
          double seconds = pass + row * static_cast<double>(plan.tokens.size());
          labels.push_back(0);
          top_tokens.push_back(0);
          draws.push_back(0);
          for (const proto::PlanRead& read : plan.reads) {
            const std::size_t of_read =
                plan.label_lists[static_cast<std::size_t>(read.label_list)].size();
            labels.back() += of_read;
            top_tokens.back() += read.top_k;
            draws.back() += read.draw && read.bin_width > 0 ? 2 : 0;
            seconds += read.draw && read.bin_width > 0 ? 2 * draw : 0;
            seconds += (read.normalizer ? label : product) * static_cast<double>(of_read) +
                       top * static_cast<double>(read.top_k);
          }
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
  std::vector<std::size_t> labels;     ///< Of all reads of each computed plan.
  std::vector<std::int64_t> top_tokens;
  std::vector<std::int64_t> draws;
};

TEST(PassCalibration, MeasuresPassesOfRisingSizes) {
  Machine machine;
  const PassCalibration calibration = machine.Calibrate(TinyModel());
  EXPECT_THAT(machine.rows,
              ElementsAre(1, 1, 32, 32, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 128, 128, 512, 512));
  EXPECT_THAT(machine.sequences,
              ElementsAre(1, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 8, 1, 32));
  EXPECT_THAT(machine.labels,
              ElementsAre(0, 0, 0, 0, 800, 800, 800, 800, 800, 800, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(machine.top_tokens,
              ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 512, 512, 512, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(machine.draws,
              ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 16, 16, 16, 0, 0, 0, 0))
      << "a draw and the sums of masses";
  EXPECT_EQ(calibration.passes, 20);
  const double seconds =
      20 * machine.pass + 1442 * machine.row +
      3 * (800 * machine.label + 800 * machine.product + 512 * machine.top + 16 * machine.draw);
  EXPECT_NEAR(calibration.seconds, seconds, 1e-6);
  // The passes are exact. The prior is far from them, so that the first predictions are off by up
  // to 100 % and the prior weighs about as much as a few of the passes at first.
  for (const std::int64_t rows : {1, 32, 512}) {
    const double expected = machine.pass + machine.row * static_cast<double>(rows);
    EXPECT_NEAR(calibration.time_model.Seconds({.rows = rows}), expected, 0.05 * expected) << rows;
  }
}

TEST(PassCalibration, ShowsWhatReadsReturn) {
  proto::ModelConfig config = TinyModel();
  config.vocab_size = 5000;
  Machine machine;
  const PassTimeModel model = machine.Calibrate(config).time_model;
  const PassWork rows{.rows = 500, .keys = 250 * 500, .reads = 100};
  const auto expect = [&](PassWork returned, double seconds) {
    const double before = model.Seconds(rows);
    returned += rows;
    EXPECT_NEAR(model.Seconds(returned) - before, seconds, 0.2 * seconds);
  };
  expect({.labels = 100 * 2560}, 100 * 2560 * machine.label);
  expect({.products = 100 * 2560}, 100 * 2560 * machine.product);
  expect({.top = 100 * 50}, 100 * 50 * machine.top);
  expect({.draws = 200}, 200 * machine.draw);
}

TEST(PassCalibration, EndsAfterASecond) {
  Machine machine{.pass = 0.03, .row = 0.002};
  const PassCalibration calibration = machine.Calibrate(TinyModel());
  EXPECT_THAT(machine.rows, ElementsAre(1, 1, 32, 32, 8, 8, 8, 128, 128))
      << "512 rows take a second";
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
  EXPECT_THAT(machine.sequences,
              ElementsAre(1, 1, 4, 4, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 16, 16, 64, 64));

  Machine small;
  small.Calibrate(TinyModel(), {.max_rows = 100, .max_reads = 1, .pass_kv_rows = 128});
  EXPECT_THAT(small.rows, ElementsAre(1, 1, 32, 16, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 64))
      << "one read";
}

TEST(PassCalibration, OfAClassifierReadsAClass) {
  proto::ModelConfig config = TinyModel();
  config.num_labels = 1;
  Machine machine;
  EXPECT_EQ(machine.Calibrate(config).passes, 11);
}

TEST(PassCalibration, OfAClockThatStandsStillIsAnUncalibratedModel) {
  Machine machine{.pass = 0, .row = 0, .label = 0, .product = 0, .top = 0, .draw = 0};
  const PassCalibration calibration = machine.Calibrate(TinyModel());
  EXPECT_EQ(calibration.seconds, 0);
  EXPECT_EQ(calibration.time_model.Seconds({.rows = 1}), PassTimeModel().Seconds({.rows = 1}));
}

}  // namespace pass_calibration_test
}  // namespace scorecast::coordinator

#include "coordinator/schedule/pass/pass_calibration.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <utility>

#include "coordinator/schedule/pass/random_passes.h"

namespace scorecast::coordinator {
namespace {

using proto::ForwardPlan;
using proto::ModelConfig;
using proto::PlanLimits;

/// Time of a calibration.
constexpr double kSeconds = 1;

/// Sizes of passes in rows.
constexpr std::array<std::int64_t, 3> kRows = {32, 128, 512};
/// Rows of a short sequence. Their K/V fills whole granules.
constexpr std::int64_t kShort = proto::kKvGranule;

/// A pass that shows what reads return has so many rows, each of which is read. So few take little
/// time, and what they return takes a good part of it.
constexpr std::int64_t kReadRows = 8;
/// It is computed so often if it is short, because a short time is not exact.
constexpr int kReadPasses = 3;
constexpr double kShortSeconds = kSeconds / 50;

/// The rows whose products take as long as reading the weights once, on a typical machine.
constexpr double kRowsOfOverhead = 10;
// What a label and a top token take as long as, in operations of large products; and how much
// longer the operations of a label's own product take.
constexpr double kOperationsOfLabel = 2e3;
constexpr double kOperationsOfTop = 1e5;
// The same of a token of the vocabulary in a draw, and of a token whose logit is changed.
constexpr double kOperationsOfDraw = 100;
constexpr double kOperationsOfAdjusted = 5e3;
constexpr double kSlowerProduct = 16;

/// Rates in the ratios of the operations that each of the work takes, so that the pass takes this
/// time.
PassRates RatesByOperations(const ModelConfig& config, const PassWork& pass, double seconds) {
  const auto hidden = static_cast<double>(config.hidden_size);
  const auto queries = static_cast<double>(config.num_attention_heads * config.head_dim);
  const auto keys = static_cast<double>(config.num_key_value_heads * config.head_dim);
  const auto intermediate = static_cast<double>(config.intermediate_size);
  const auto layers = static_cast<double>(config.num_hidden_layers());
  PassRates rates;
  rates.row = layers * 2 * hidden * (2 * queries + 2 * keys + 3 * intermediate);
  rates.key = layers * 4 * queries;
  rates.read = 2 * hidden * static_cast<double>(config.output_size());
  rates.label = kOperationsOfLabel;
  rates.product = kOperationsOfLabel + kSlowerProduct * 2 * hidden;
  rates.top = kOperationsOfTop;
  rates.draw = kOperationsOfDraw * static_cast<double>(config.output_size());
  rates.adjusted = kOperationsOfAdjusted;
  rates.overhead = kRowsOfOverhead * rates.row;
  return rates.Scaled(seconds / (rates.overhead + rates.Seconds(pass)));
}

}  // namespace

PassCalibration CalibratePassTime(const ModelConfig& config, const PlanLimits& limits,
                                  const std::function<void(ForwardPlan)>& compute,
                                  const std::function<Clock::time_point()>& now) {
  PassCalibration calibration;
  RandomPasses passes(config, limits);
  const auto measure = [&](ForwardPlan plan) {
    const Clock::time_point begin = now();
    compute(std::move(plan));
    const std::chrono::duration<double> took = now() - begin;
    ++calibration.passes;
    calibration.seconds += took.count();
    return took.count();
  };
  // The first pass is slower, because some memory is touched for the first time. So it is computed
  // again if it was fast.
  RandomPasses::Pass smallest = passes.Make(1, 1);
  double seconds = measure(smallest.plan);
  if (2 * seconds <= kSeconds) {
    seconds = measure(std::move(smallest.plan));
  }
  PassTimeModel& model = calibration.time_model;
  if (seconds > 0) {
    model = PassTimeModel(RatesByOperations(config, smallest.work, seconds));
    model.Observe(smallest.work, seconds);
  }
  const auto observe = [&](RandomPasses::Pass pass) {
    model.Observe(pass.work, measure(std::move(pass.plan)));
  };
  const auto has_time_for = [&](const PassWork& work) {
    return calibration.seconds + model.Seconds(work) <= kSeconds;
  };
  const auto observe_reads = [&](const RandomPasses::Read& read) {
    for (int i = 0; i < kReadPasses; ++i) {
      RandomPasses::Pass pass = passes.MakeReads(kReadRows, read);
      if (pass.work.rows > 0 && has_time_for(pass.work) &&
          (i == 0 || model.Seconds(pass.work) <= kShortSeconds)) {
        observe(std::move(pass));
      }
    }
  };
  bool has_time = true;
  std::int64_t most_rows = 0;
  for (const std::int64_t rows : kRows) {
    for (const std::int64_t length : {rows, kShort}) {
      RandomPasses::Pass pass = passes.Make(rows, length);
      has_time = has_time && rows <= limits.max_rows && has_time_for(pass.work);
      if (has_time) {
        most_rows = std::max(most_rows, pass.work.rows);
        observe(std::move(pass));
      }
    }
    if (rows == kRows.front()) {
      std::ranges::for_each(passes.Larger(), observe_reads);
    }
  }
  // The rate of further rows is only known from passes that have them. If few rows take as long as
  // a bounded pass, no such pass would be formed later.
  const auto rows = std::min<std::int64_t>(2 * PassTimeModel::kFewRows, limits.max_rows);
  if (most_rows < rows) {
    observe(passes.Make(rows, rows));
  }
  return calibration;
}

}  // namespace scorecast::coordinator

#include "coordinator/schedule/pass_calibration.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "coordinator/schedule/pass_builder.h"

namespace scorecast::coordinator {
namespace {

using proto::ForwardPlan;
using proto::ModelConfig;
using proto::PlanLimits;
using proto::TokenId;

/// Time of a calibration.
constexpr double kSeconds = 1;

/// Sizes of passes in rows.
constexpr std::array<std::int64_t, 3> kRows = {32, 128, 512};
/// Rows of a short sequence. Their K/V fills whole granules.
constexpr std::int64_t kShort = proto::kKvGranule;

/// The rows whose products take as long as reading the weights once, on a typical machine.
constexpr double kRowsOfOverhead = 10;

/// Makes passes of random tokens.
class RandomPasses {
 public:
  RandomPasses(const ModelConfig& config, const PlanLimits& limits)
      : config_(config), limits_(limits) {}

  struct Pass {
    ForwardPlan plan;
    PassWork work;
  };

  /// A pass of `rows` rows, or of as many as fit, in sequences of `length` rows. The last row of
  /// each is read.
  Pass Make(std::int64_t rows, std::int64_t length) {
    length = std::min(length, config_.max_position_embeddings);
    PassBuilder builder(limits_);
    PassWork work;
    while (work.rows < rows && Add(std::min(length, rows - work.rows), builder, work)) {
    }
    return {std::move(builder).Take(), work};
  }

 private:
  /// False if the pass has no room for the sequence.
  bool Add(std::int64_t length, PassBuilder& builder, PassWork& work) {
    // A classifier's head has few outputs, of which a rank may have none.
    const proto::RowRead read{.normalizer = !config_.is_classifier()};
    const proto::LabelList& labels = config_.is_classifier() ? first_class_ : no_labels_;
    const auto rows = static_cast<std::int32_t>(length);
    const PassCost cost{.rows = length,
                        .reads = 1,
                        .kv_rows = proto::KvRows(rows),
                        .logit_bytes = proto::ReadBytes(read, labels.size(), limits_)};
    if (!cost.FitsInto(builder.room())) {
      return false;
    }
    std::vector<TokenId> tokens(static_cast<std::size_t>(length));
    for (TokenId& token : tokens) {
      token = static_cast<TokenId>(random_() % static_cast<std::uint64_t>(config_.vocab_size));
    }
    builder.BeginSequence({});
    builder.AddSegment({.compute_end = rows, .kv = builder.TakePlaces(rows)}, tokens);
    builder.AddRead(builder.computed_rows() - 1, read, labels);
    work += {.rows = length, .keys = length * (length + 1) / 2, .reads = 1};
    return true;
  }

  const ModelConfig& config_;
  const PlanLimits& limits_;
  const proto::LabelList no_labels_;
  const proto::LabelList first_class_ = {0};
  std::mt19937_64 random_;  ///< The same tokens in every calibration.
};

/// Rates in the ratios of the operations that a row, a key and a read take, so that the pass takes
/// this time.
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
  rates.overhead = kRowsOfOverhead * rates.row;
  const double scale = seconds / (rates.overhead + rates.Seconds(pass));
  return {.overhead = scale * rates.overhead,
          .row = scale * rates.row,
          .key = scale * rates.key,
          .read = scale * rates.read};
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
  bool has_time = true;
  std::int64_t most_rows = 0;
  for (const std::int64_t rows : kRows) {
    for (const std::int64_t length : {rows, kShort}) {
      RandomPasses::Pass pass = passes.Make(rows, length);
      has_time = has_time && rows <= limits.max_rows &&
                 calibration.seconds + model.Seconds(pass.work) <= kSeconds;
      if (has_time) {
        most_rows = std::max(most_rows, pass.work.rows);
        observe(std::move(pass));
      }
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

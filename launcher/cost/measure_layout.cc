#include "launcher/cost/measure_layout.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/schedule/pass/random_passes.h"
#include "launcher/cost/cost_calibration.h"
#include "launcher/engine/startup_passes.h"
#include "proto/base/count.h"
#include "proto/base/error.h"
#include "proto/base/one_line.h"
#include "proto/base/replace_file.h"
#include "proto/log/log.h"
#include "shard/model/transformer.h"

namespace scorecast::launcher {
namespace {

using coordinator::RandomPasses;
using Clock = std::chrono::steady_clock;

/// Rows of passes, which are one sequence or several short ones. Long sequences show the cost of
/// keys.
constexpr std::array<std::int64_t, 7> kRows = {1, 8, 32, 64, 128, 256, 512};
constexpr std::int64_t kShort = 2 * proto::kKvGranule;
/// A pass is computed so often, and the median counts.
constexpr std::size_t kTimes = 3;
/// No larger pass is begun if this would be exceeded.
constexpr double kSeconds = 30;

/// The passes of one rank 0.
class Meter {
 public:
  Meter(const shard::Transformer& transformer, const ComputePlan& compute)
      : transformer_(transformer), compute_(compute) {}

  /// The pass of kTimes that takes the median time.
  MeasuredPass Median(const RandomPasses::Pass& pass) {
    std::vector<MeasuredPass> measured;
    for (std::size_t i = 0; i < kTimes; ++i) {
      measured.push_back(Once(pass));
    }
    std::ranges::sort(measured, {}, &MeasuredPass::seconds);
    return measured[kTimes / 2];
  }

  MeasuredPass Once(const RandomPasses::Pass& pass) {
    const auto before = transformer_.phase_times().seconds();
    const Clock::time_point begin = Clock::now();
    compute_(pass.plan);
    const std::chrono::duration<double> took = Clock::now() - begin;
    seconds_ += took.count();
    const auto& after = transformer_.phase_times().seconds();
    const auto of = [&](shard::Phase phase) {
      const auto i = static_cast<std::size_t>(phase);
      return after[i] - before[i];
    };
    return {.work = {.rows = pass.work.rows, .keys = pass.work.keys, .reads = pass.work.reads},
            .seconds = took.count(),
            .products = of(shard::Phase::kGemm),
            .attention = of(shard::Phase::kAttention),
            .other = of(shard::Phase::kOther),
            .communication = of(shard::Phase::kCommunication)};
  }

  /// What all passes so far took.
  double seconds() const { return seconds_; }

 private:
  const shard::Transformer& transformer_;
  const ComputePlan& compute_;
  double seconds_ = 0;
};

std::vector<MeasuredPass> MeasurePasses(const Engine& engine, const ComputePlan& compute) {
  RandomPasses passes(engine.config(), engine.limits());
  Meter meter(engine.transformer(), compute);
  // The first pass is slower, because some memory is touched for the first time.
  meter.Once(passes.Make(kRows.front(), kRows.front()));
  std::vector<MeasuredPass> measured;
  for (const std::int64_t rows : kRows) {
    std::vector<std::int64_t> lengths = {rows};
    if (rows > kShort) {
      lengths.push_back(kShort);
    }
    for (const std::int64_t length : lengths) {
      const RandomPasses::Pass pass = passes.Make(rows, length);
      const double expected = measured.empty()
                                  ? 0
                                  : measured.back().seconds * static_cast<double>(rows) /
                                        static_cast<double>(measured.back().work.rows);
      // The model's context or --max-batch-tokens may allow for fewer rows.
      if (pass.work.rows == rows &&
          meter.seconds() + static_cast<double>(kTimes) * expected <= kSeconds) {
        measured.push_back(meter.Median(pass));
      }
    }
  }
  return measured;
}

/// Called on every rank. Returns the measurements on rank 0.
std::optional<CostCalibration> MeasureLayout(Engine& engine) {
  std::optional<CostCalibration> calibration;
  RunStartupPasses(engine, [&](const ComputePlan& compute) {
    const int ranks_a_host = engine.transformer().exchange().ranks_a_host();
    const shard::ArithmeticChoice& products = engine.products();
    calibration = CostCalibration{.version = SCORECAST_VERSION,
                                  .kernels = engine.kernels(),
                                  .layer_backend = std::string(products.layer_backend->name),
                                  .lm_head_backend = std::string(products.lm_head_backend->name),
                                  .weights = engine.held_weights(),
                                  .layout = {.hosts = engine.ranks() / ranks_a_host,
                                             .ranks_a_host = ranks_a_host,
                                             .threads = engine.threads()},
                                  .shape = engine.config(),
                                  .passes = MeasurePasses(engine, compute)};
  });
  return calibration;
}

}  // namespace

void WriteCostCalibration(Engine& engine, const std::filesystem::path& path) {
  const bool may_be_wanted = !path.empty() || !engine.is_root();
  if (engine.group().Min(may_be_wanted ? 1 : 0) == 0) {
    return;
  }
  if (engine.config().read_head) {
    throw proto::StartupError("--write-calibration needs a model that scores tokens, and " +
                              engine.config().architecture + " pools rows");
  }
  const std::optional<CostCalibration> calibration = MeasureLayout(engine);
  engine.StartupPhase([&] {
    if (calibration) {
      proto::ReplaceFile(path, calibration->ToJson());
      proto::LogInfo("calibration: {} measured and written to {}",
                     proto::Count(calibration->passes.size(), "pass", "passes"),
                     proto::OneLinePath(path.string()));
    }
  });
}

}  // namespace scorecast::launcher

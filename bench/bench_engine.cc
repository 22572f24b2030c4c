#include "bench/bench_engine.h"

#include <optional>

#include "launcher/engine/engine_flags.h"
#include "proto/base/error.h"
#include "shard/checkpoint/checkpoint.h"
#include "shard/linear/precision.h"

namespace scorecast::bench {
const std::vector<std::string>& EngineDtypes() {
  static const std::vector<std::string> dtypes = {"f32", "bf16", "int8"};
  return dtypes;
}

BenchEngine::BenchEngine(const EngineOptions& options)
    : group_(proto::Communicator::World()),
      config_(proto::LoadModelConfig(options.model_dir)),
      limits_(options.limits),
      sharding_(options.rank_invariant ? proto::Sharding::kInBlocks : proto::Sharding::kEven) {
  proto::SetModelLimits(config_, group_.size(), limits_, sharding_);
  const std::optional<shard::Precision> precision = shard::PrecisionFromName(options.dtype);
  if (!precision) {
    throw proto::StartupError("the engine does not compute in " + options.dtype);
  }
  shard::CpuFeatures features;
  proto::StartupPhase(group_, [&] { features = launcher::FeaturesFromFlag(options.kernel); });
  shard::RankEngineOptions rank;
  rank.arithmetic = shard::AgreeOnArithmetic(group_, features, precision);
  features_ = rank.arithmetic.features;
  products_ = rank.arithmetic.products;
  weights_ = shard::HoldWeights(products_, shard::Checkpoint::Open(options.model_dir), config_);
  rank.threads = options.threads;
  rank.sharding = sharding_;
  rank.limits = limits_;
  rank.column_reads = options.column_reads;
  rank_ = std::make_unique<shard::RankEngine>(group_, options.model_dir, config_, rank);
}

proto::Partition BenchEngine::partition(int rank) const {
  return proto::MakePartition(config_, rank, group_.size(), sharding_);
}

NamedFigures BenchEngine::PhaseSeconds() const {
  NamedFigures figures;
  const auto& seconds = transformer().phase_times().seconds();
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    figures.emplace_back(shard::Name(static_cast<shard::Phase>(i)), seconds[i]);
  }
  return figures;
}

NamedFigures BenchEngine::ExchangeCost() const {
  const shard::RowExchange::Cost& cost = transformer().exchange().cost();
  return {{"bytes", static_cast<double>(cost.bytes)},
          {"wait_s", cost.wait_seconds},
          {"transfer_s", cost.transfer_seconds}};
}

}  // namespace scorecast::bench

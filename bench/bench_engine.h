#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "proto/model/model_config.h"
#include "proto/model/partition.h"
#include "proto/mpi/communicator.h"
#include "proto/plan/forward_plan.h"
#include "shard/model/memory_estimate.h"
#include "shard/model/transformer.h"
#include "shard/runtime/thread_pool.h"
#include "shard/worker/rank_engine.h"

namespace scorecast::bench {

/// Values of --dtype that the engine supports.
const std::vector<std::string>& EngineDtypes();

/// Room for the largest workload of all benches in one pass. Unused memory costs nothing.
inline constexpr proto::PlanLimits kBenchLimits = {
    .max_rows = 16384, .max_reads = 16384, .pass_kv_rows = 2 * 16384, .kept_kv_rows = 0};

struct EngineOptions {
  std::filesystem::path model_dir;
  std::string dtype = "f32";    ///< One of EngineDtypes().
  std::string kernel = "auto";  ///< As the executable's --kernel.
  int threads = 1;              ///< Of each rank.
  bool rank_invariant = false;  ///< As the executable's --rank-invariant.
  proto::PlanLimits limits = kBenchLimits;
  std::optional<shard::ColumnReads> column_reads;  ///< The faster way, if absent.
};

using NamedFigures = std::vector<std::pair<std::string, double>>;

/// A rank's engine without the service around it. All benches make the engine by this class.
/// Collective over all ranks of the job.
class BenchEngine {
 public:
  /// Throws the StartupError of the engine's parts, and one if `dtype` is not in EngineDtypes().
  explicit BenchEngine(const EngineOptions& options);

  bool is_root() const { return group_.is_root(); }
  proto::Communicator& group() { return group_; }
  const proto::ModelConfig& config() const { return config_; }
  const proto::PlanLimits& limits() const { return limits_; }
  proto::Partition partition(int rank) const;
  /// This rank's partition.
  proto::Partition partition() const { return partition(group_.rank()); }
  /// The CPU features that kernels and libraries may use.
  shard::CpuFeatures features() const { return features_; }
  const shard::Kernels& kernels() const { return shard::KernelsFor(features_); }
  shard::ThreadPool& pool() { return rank_->pool(); }
  const shard::Transformer& transformer() const { return rank_->transformer(); }
  shard::PlanRunner& runner() { return rank_->runner(); }

  // Totals of this rank's passes so far, each with its name. Names and order never change.

  /// Seconds by phase, such as "gemm".
  NamedFigures PhaseSeconds() const;
  /// Totals of the exchanges between ranks: seconds if the name ends in "_s", else bytes.
  NamedFigures ExchangeCost() const;

  /// What it cost to read the weights.
  const shard::LoadFigures& load_figures() const { return rank_->load_figures(); }
  /// Precisions of the products with weights.
  const shard::ArithmeticChoice& products() const { return products_; }
  /// How the weights are held.
  const shard::HeldWeights& weights() const { return weights_; }
  /// The log's description of the libraries and kernels.
  std::string BackendDescription() const { return rank_->Description(); }

 private:
  proto::Communicator group_;
  proto::ModelConfig config_;
  proto::PlanLimits limits_;
  proto::Sharding sharding_;
  shard::CpuFeatures features_;
  shard::ArithmeticChoice products_;
  shard::HeldWeights weights_;
  std::unique_ptr<shard::RankEngine> rank_;
};

}  // namespace scorecast::bench

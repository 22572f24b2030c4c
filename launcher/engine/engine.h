#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/text/tokenizer.h"
#include "coordinator/transports/batch/run_state.h"
#include "launcher/engine/engine_flags.h"
#include "launcher/engine/plan_limits.h"
#include "launcher/host/host_resources.h"
#include "proto/model/model_config.h"
#include "proto/mpi/communicator.h"
#include "proto/plan/forward_plan.h"
#include "shard/model/memory_estimate.h"
#include "shard/worker/plan_runner.h"
#include "shard/worker/rank_engine.h"

namespace scorecast::launcher {

/// A number of ranks for a dry run, in which one process checks whether so many ranks could start.
struct PlannedRanks {
  int ranks = 1;
  int per_host = 1;  ///< Ranks that share the memory of a host like this one.
};

/// Everything that a rank holds while it computes. All ranks construct and load it together: they
/// agree on the success of each phase of start-up, and all throw StartupError if it failed on one
/// of them.
class Engine {
 public:
  /// Checks the flags, the model and the memory. Reads no weights. Rank 0 calls `prepare_root` when
  /// this engine has everything but a runner; a command opens its files there. If it throws, the
  /// start-up of all ranks fails. `planned` is only for an engine of one process that is never
  /// loaded.
  Engine(const EngineFlags& flags, const std::function<void(const Engine&)>& prepare_root,
         std::optional<PlannedRanks> planned = std::nullopt);

  /// Checks the checkpoint as Load does, but reads only samples of it.
  void CheckCheckpoint();
  /// Reads the weights, and makes the runner. If `has_checksums` is true on rank 0, all ranks also
  /// compute the checksums of the weights' files.
  void Load(bool has_checksums = false);
  /// The checksums of all files of weights. Empty if Load had no has_checksums.
  const std::vector<shard::FileChecksum>& checksums() const { return rank_->checksums(); }

  /// Runs a further phase of start-up. Called on every rank.
  void StartupPhase(const std::function<void()>& phase) { proto::StartupPhase(group_, phase); }

  bool is_root() const { return group_.is_root(); }
  const proto::Communicator& group() const { return group_; }
  /// The number of ranks of the group, or of planned ranks.
  int ranks() const { return ranks_; }
  const proto::ModelConfig& config() const { return config_; }
  const proto::PlanLimits& limits() const { return limits_.plan; }
  std::int32_t cached_pages() const { return limits_.cached_pages; }
  /// The memory that this rank needs, and the resources that it may use.
  const shard::MemoryEstimate& memory_estimate() const { return memory_estimate_; }
  const RankShare& share() const { return share_; }
  /// Bytes of one page of K/V on the rank with the most K/V heads.
  std::int64_t page_bytes() const { return limits_.page_bytes; }
  /// The precision of matrix products, as --dtype spells it.
  const std::string& dtype() const { return dtype_; }
  /// The kernels, instructions and libraries, for people.
  const std::string& kernels() const { return kernels_; }
  /// See ArithmeticSettingsOf.
  const coordinator::RunSettings& arithmetic_settings() const { return arithmetic_settings_; }
  /// Set on rank 0 only; null if the model directory has no tokenizer.
  const coordinator::Tokenizer* tokenizer() const { return tokenizer_.get(); }
  /// Set on rank 0 only: the options given by flags, with the delimiter as an id, the model's name
  /// and the reranker.
  const coordinator::ServerOptions& server_options() const { return server_options_; }
  shard::PlanRunner& runner() { return rank_->runner(); }

  // Which products this rank computes, how it holds their weights, and on how many threads.
  const shard::ArithmeticChoice& products() const { return options_.arithmetic.products; }
  const shard::HeldWeights& held_weights() const { return held_weights_; }
  int threads() const { return options_.threads; }
  /// Loaded by Load.
  const shard::Transformer& transformer() const { return rank_->transformer(); }

 private:
  void Configure(const EngineFlags& flags);

  const std::filesystem::path model_;
  proto::Communicator group_;
  const int ranks_;
  proto::ModelConfig config_;
  EngineLimits limits_;
  RankShare share_;
  shard::HeldWeights held_weights_;
  shard::MemoryEstimate memory_estimate_;
  shard::RankEngineOptions options_;
  std::string dtype_;
  std::string kernels_;
  coordinator::RunSettings arithmetic_settings_;
  std::unique_ptr<coordinator::Tokenizer> tokenizer_;
  coordinator::ServerOptions server_options_;
  std::string texts_;  ///< See coordinator::LoadedTexts::Text.
  // Lines of the log about keys of the model's files; set on rank 0 only.
  std::vector<std::string> unread_keys_;
  std::vector<std::string> key_warnings_;
  std::unique_ptr<shard::RankEngine> rank_;
};

}  // namespace scorecast::launcher

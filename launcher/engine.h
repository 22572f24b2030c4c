#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "coordinator/text/tokenizer.h"
#include "launcher/engine_flags.h"
#include "launcher/plan_limits.h"
#include "proto/model/model_config.h"
#include "proto/mpi/communicator.h"
#include "proto/plan/forward_plan.h"
#include "shard/worker/plan_runner.h"
#include "shard/worker/rank_engine.h"

namespace scorecast::launcher {

/// Everything that a rank holds while it computes. All ranks construct it together: they agree on
/// the success of each phase of start-up, and all throw StartupError if it failed on one of them.
class Engine {
 public:
  /// `prepare_root` runs on rank 0 before any weight is read; a command opens its files there. Its
  /// argument is this engine, which has everything but a runner. An exception from it fails the
  /// start-up of all ranks.
  Engine(const EngineFlags& flags, const std::function<void(Engine&)>& prepare_root);

  /// Lets all ranks compute the checksums of the weights' files while they load these. Called by
  /// `prepare_root` only.
  void RequireChecksums() { has_checksums_ = true; }
  /// Of all files of weights. Empty without RequireChecksums.
  const std::vector<shard::FileChecksum>& checksums() const { return rank_->checksums(); }

  /// Runs a further phase of start-up. Called on every rank.
  void StartupPhase(const std::function<void()>& phase) { proto::StartupPhase(group_, phase); }

  bool is_root() const { return group_.is_root(); }
  const proto::Communicator& group() const { return group_; }
  const proto::ModelConfig& config() const { return config_; }
  const proto::PlanLimits& limits() const { return limits_.plan; }
  std::int32_t cached_pages() const { return limits_.cached_pages; }
  /// Bytes of one page of K/V on this rank.
  std::int64_t page_bytes() const { return limits_.page_bytes; }
  /// The precision of matrix products, as --dtype spells it.
  const std::string& dtype() const { return dtype_; }
  /// The kernels, instructions and libraries on which, besides the precision, the bits of a score
  /// depend.
  const std::string& kernels() const { return kernels_; }
  /// Set on rank 0 only; null if the model directory has no tokenizer.
  const coordinator::Tokenizer* tokenizer() const { return tokenizer_.get(); }
  /// Set on rank 0 only: the flags' options, with the delimiter as an id, the model's name and the
  /// reranker.
  const coordinator::ServerOptions& server_options() const { return server_options_; }
  shard::PlanRunner& runner() { return rank_->runner(); }

 private:
  void Configure(const EngineFlags& flags);

  proto::Communicator group_;
  proto::ModelConfig config_;
  EngineLimits limits_;
  bool has_checksums_ = false;
  std::string dtype_;
  std::string kernels_;
  std::unique_ptr<coordinator::Tokenizer> tokenizer_;
  coordinator::ServerOptions server_options_;
  std::unique_ptr<shard::RankEngine> rank_;
};

}  // namespace scorecast::launcher

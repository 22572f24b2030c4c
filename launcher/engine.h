#pragma once

#include <functional>
#include <memory>

#include "coordinator/text/tokenizer.h"
#include "launcher/engine_flags.h"
#include "launcher/plan_limits.h"
#include "proto/model/model_config.h"
#include "proto/mpi/communicator.h"
#include "proto/plan/forward_plan.h"
#include "shard/worker/plan_runner.h"
#include "shard/worker/rank_engine.h"

namespace scorecast::launcher {

/// Everything that a rank holds while it computes. Made by all ranks together: after each phase of
/// start-up they agree on its success, and all throw StartupError where one failed.
class Engine {
 public:
  /// `prepare_root` is what a command does on rank 0 before any weight is read, such as opening its
  /// files; its faults are faults of start-up.
  Engine(const EngineFlags& flags, const std::function<void()>& prepare_root);

  /// A further phase of start-up, on every rank.
  void StartupPhase(const std::function<void()>& phase) { proto::StartupPhase(group_, phase); }

  bool is_root() const { return group_.is_root(); }
  const proto::ModelConfig& config() const { return config_; }
  const proto::PlanLimits& limits() const { return limits_.plan; }
  std::int32_t cached_pages() const { return limits_.cached_pages; }
  /// Of a page of K/V on this rank.
  std::int64_t page_bytes() const { return limits_.page_bytes; }
  /// On rank 0; null where the model directory has none.
  const coordinator::Tokenizer* tokenizer() const { return tokenizer_.get(); }
  /// On rank 0: the flags' options with the delimiter as an id and the model's name.
  const coordinator::ServerOptions& server_options() const { return server_options_; }
  shard::PlanRunner& runner() { return rank_->runner(); }

 private:
  void Configure(const EngineFlags& flags);

  proto::Communicator group_;
  proto::ModelConfig config_;
  EngineLimits limits_;
  std::unique_ptr<coordinator::Tokenizer> tokenizer_;
  coordinator::ServerOptions server_options_;
  std::unique_ptr<shard::RankEngine> rank_;
};

}  // namespace scorecast::launcher

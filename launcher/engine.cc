#include "launcher/engine.h"

#include <chrono>

#include <spdlog/spdlog.h>

#include "coordinator/doors/delimiter_flag.h"
#include "launcher/plan_limits.h"
#include "proto/model/partition.h"

namespace scorecast::launcher {

Engine::Engine(const EngineFlags& flags, const std::function<void()>& prepare_root)
    : group_(proto::Communicator::World()), score_options_(flags.score) {
  proto::StartupPhase(group_, [&] {
    config_ = proto::LoadModelConfig(flags.model);
    proto::MakePartition(config_, group_.rank(), group_.size());
  });
  const int ranks_here = group_.RanksOnThisHost();
  proto::StartupPhase(group_, [&] {
    limits_ = MakePlanLimits(flags, config_, group_.size(), ranks_here, HostMemory());
    if (is_root()) {
      Configure(flags);
      prepare_root();
    }
  });
  pool_ = std::make_unique<shard::ThreadPool>(flags.threads > 0 ? flags.threads
                                                                : DefaultThreads(ranks_here));
  LoadWeights(flags);
  doorbell_ = shard::Doorbell::Connect(group_);
  runner_ = std::make_unique<shard::PlanRunner>(group_, config_, *transformer_, *doorbell_);
}

void Engine::Configure(const EngineFlags& flags) {
  // "models/qwen3/" has no file name of its own.
  const std::filesystem::path dir = std::filesystem::weakly_canonical(flags.model);
  score_options_.model_name = dir.filename().string();
  tokenizer_ = coordinator::LoadTokenizer(flags.model);
  if (!flags.delimiter.empty()) {
    score_options_.delimiter =
        coordinator::DelimiterFromFlag(flags.delimiter, tokenizer_.get(), config_);
  }
}

void Engine::LoadWeights(const EngineFlags& flags) {
  shard::InstructionSet best = shard::InstructionSet::kGeneric;
  proto::StartupPhase(group_, [&] { best = InstructionSetFromFlag(flags.kernel); });
  const auto agreed = static_cast<shard::InstructionSet>(group_.Min(static_cast<int>(best)));
  const auto begin = std::chrono::steady_clock::now();
  proto::StartupPhase(group_, [&] {
    checkpoint_ = std::make_unique<shard::Checkpoint>(shard::Checkpoint::Open(flags.model));
    transformer_ = std::make_unique<shard::Transformer>(config_, *checkpoint_, group_, backend_,
                                                        shard::KernelsFor(agreed), *pool_, limits_);
  });
  if (is_root()) {
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    spdlog::info(
        "{} ({}), {} rank{} x {} thread{}, dtype {}, kernels {}, {}, weights read in {:.2f} s",
        score_options_.model_name, config_.architecture, group_.size(),
        group_.size() == 1 ? "" : "s", pool_->threads(), pool_->threads() == 1 ? "" : "s",
        flags.dtype, shard::Name(agreed), backend_.Description(), seconds.count());
  }
}

}  // namespace scorecast::launcher

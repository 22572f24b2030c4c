#include "shard/worker/rank_engine.h"

namespace scorecast::shard {

AgreedArithmetic AgreeOnArithmetic(const proto::Communicator& group, InstructionSet most,
                                   std::optional<Precision> precision) {
  AgreedArithmetic agreed;
  agreed.instruction_set = static_cast<InstructionSet>(group.Min(static_cast<int>(most)));
  if (agreed.instruction_set != DetectInstructionSet()) {
    LimitOneDnn(agreed.instruction_set);
  }
  ArithmeticChoice& choice = agreed.products;
  choice = ChooseArithmetic(precision.value_or(DefaultPrecision(agreed.instruction_set)));
  // A library that lacks a kernel on one rank is used on none.
  choice.layers_by_onednn = group.Min(choice.layers_by_onednn ? 1 : 0) == 1;
  choice.lm_head = static_cast<Precision>(  // The ranks differ only if one lacks bfloat16.
      group.Min(static_cast<int>(choice.lm_head)));
  choice.lm_head_by_onednn = group.Min(choice.lm_head_by_onednn ? 1 : 0) == 1;
  return agreed;
}

RankEngine::RankEngine(proto::Communicator& group, const std::filesystem::path& model_dir,
                       const proto::ModelConfig& config, const RankEngineOptions& options)
    : agreed_(options.arithmetic) {
  proto::StartupPhase(group, [&] { pool_ = std::make_unique<ThreadPool>(options.threads); });
  exchange_ = std::make_unique<RowExchange>(Transformer::MakeExchange(
      group, config, agreed_.products.layers, options.limits, options.transport));
  proto::StartupPhase(group, [&] {
    const Kernels& kernels = KernelsFor(agreed_.instruction_set);
    arithmetic_ = std::make_unique<Arithmetic>(kernels, agreed_.products, pool_->threads());
    checkpoint_ = std::make_unique<Checkpoint>(Checkpoint::Open(model_dir));
    transformer_ = std::make_unique<Transformer>(config, *checkpoint_, *exchange_, *arithmetic_,
                                                 kernels, *pool_, options.limits, options.progress);
  });
  transformer_->Touch(proto::kTouchedBucket);
  doorbell_ = Doorbell::Connect(group);
  runner_ = std::make_unique<PlanRunner>(group, config, *transformer_, *doorbell_);
}

std::string RankEngine::Description() const {
  return arithmetic_->Description() + ", kernels " + std::string(Name(agreed_.instruction_set)) +
         (exchange_->ranks() == 1 ? "" : ", sums by " + exchange_->Description());
}

}  // namespace scorecast::shard

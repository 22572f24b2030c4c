#include "shard/worker/rank_engine.h"

#include <chrono>
#include <vector>

#include "proto/mpi/agreement.h"

namespace scorecast::shard {

AgreedArithmetic AgreeOnArithmetic(const proto::Communicator& group, CpuFeatures features,
                                   std::optional<Precision> precision) {
  AgreedArithmetic agreed;
  agreed.features = features;
  for (const int bits : group.AllGather(features.bits())) {
    agreed.features = agreed.features & CpuFeatures::FromBits(bits);
  }
  // A library that does not support a precision on one rank is used for it on none. All ranks ask
  // the same questions, because each depends on the agreed results of those before.
  agreed.products = ChooseArithmeticOfEngine(
      agreed.features, precision, [&](bool here) { return group.Min(here ? 1 : 0) == 1; });
  return agreed;
}

namespace {

/// Refuses ranks whose files of weights differ. Their paths may differ.
void AgreeOnFiles(const proto::Communicator& group, const Checkpoint& checkpoint) {
  std::vector<proto::Fingerprint> files;
  proto::StartupPhase(group, [&] {
    for (const Checkpoint::FileDigest& file : checkpoint.Digests()) {
      files.push_back({file.name, file.digest, file.path + " differs from rank 0's"});
    }
  });
  proto::AgreeOn(group, files);
}

}  // namespace

RankEngine::RankEngine(proto::Communicator& group, const std::filesystem::path& model_dir,
                       const proto::ModelConfig& config, const RankEngineOptions& options)
    : agreed_(options.arithmetic) {
  proto::StartupPhase(
      group, [&] { checkpoint_ = std::make_unique<Checkpoint>(Checkpoint::Open(model_dir)); });
  AgreeOnFiles(group, *checkpoint_);
  proto::StartupPhase(group, [&] { pool_ = std::make_unique<ThreadPool>(options.threads); });
  exchange_ = std::make_unique<RowExchange>(Transformer::MakeExchange(
      group, config, agreed_.products.layers, options.limits, options.transport));
  exchange_->ReportTo(progress_);
  // Connected before the weights are read, so that start-up is watched, too.
  watch_ = std::make_unique<RankWatch>(group, options.watch, progress_, *pool_);
  doorbell_ = Doorbell::Connect(group, watch_.get());
  const auto begin = std::chrono::steady_clock::now();
  proto::StartupPhase(group, [&] {
    const Kernels& kernels = KernelsFor(agreed_.features);
    arithmetic_ = std::make_unique<Arithmetic>(kernels, agreed_.products, pool_->threads());
    transformer_ = std::make_unique<Transformer>(config, *checkpoint_, *exchange_, *arithmetic_,
                                                 kernels, *pool_, options.limits, options.progress);
    checkpoint_->CheckUnchanged();
  });
  load_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  proto::StartupPhase(group, [&] {
    transformer_->ExtendRopeTables(proto::TouchedLimits(options.limits).max_rows);
  });
  transformer_->Touch();  // Collective, so it must not fail on one rank only: it allocates nothing.
  runner_ =
      std::make_unique<PlanRunner>(group, config, *transformer_, *doorbell_, progress_, *watch_);
  progress_.BecomeIdle();
}

std::string RankEngine::Description() const {
  return arithmetic_->Description() + ", kernels " +
         std::string(BestKernelSet(agreed_.features).name) +
         (exchange_->ranks() == 1 ? "" : ", sums by " + exchange_->Description());
}

}  // namespace scorecast::shard

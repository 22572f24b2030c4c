#include "bench/pass_bench.h"

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "bench/progress.h"
#include "bench/raw_gemms.h"
#include "coordinator/schedule/pass_builder.h"
#include "proto/base/check.h"
#include "proto/model/model_config.h"
#include "proto/mpi/communicator.h"
#include "proto/plan/packed_sequence.h"
#include "shard/checkpoint/checkpoint.h"
#include "shard/linear/openblas_backend.h"
#include "shard/runtime/thread_pool.h"
#include "shard/transformer/transformer.h"
#include "shard/worker/doorbell.h"
#include "shard/worker/plan_runner.h"

namespace scorecast::bench {
namespace {

using proto::ForwardPlan;
using proto::PackedSequence;
using proto::TokenId;

/// Every item's last row read against two labels, over the whole vocabulary.
PackedSequence Sequence(const std::vector<TokenId>& prefix,
                        const std::vector<std::vector<TokenId>>& items) {
  PackedSequence sequence = proto::PackItems(prefix, items);
  sequence.label_lists = {{5, 7}};
  const auto prefix_length = static_cast<std::int32_t>(prefix.size());
  for (const std::int32_t row : proto::LastRowOfEachItem(prefix_length, items)) {
    sequence.reads.push_back({row, 0, true, 0});
  }
  if (items.empty()) {
    sequence.reads.push_back({prefix_length - 1, 0, true, 0});
  }
  return sequence;
}

ForwardPlan PlanOf(const PackedSequence& sequence, const proto::PlanLimits& limits) {
  coordinator::PassBuilder pass(limits);
  proto::Check(pass.AddWhole(sequence, coordinator::CostOf(sequence)), "the workload fits a pass");
  return std::move(pass).Take();
}

/// One workload's plans.
struct Plans {
  ForwardPlan packed;
  std::vector<ForwardPlan> one_by_one;
};

Plans MakePlans(const Workload& workload, std::int64_t vocab_size,
                const proto::PlanLimits& limits) {
  const std::vector<TokenId> query = Tokens(workload.query_tokens, 0, vocab_size);
  std::vector<std::vector<TokenId>> items;
  Plans plans;
  for (std::int64_t i = 0; i < workload.items; ++i) {
    items.push_back(Tokens(workload.item_tokens, i + 1, vocab_size));
    std::vector<TokenId> prompt = query;
    prompt.insert(prompt.end(), items.back().begin(), items.back().end());
    plans.one_by_one.push_back(PlanOf(Sequence(prompt, {}), limits));
  }
  plans.packed = PlanOf(Sequence(query, items), limits);
  return plans;
}

template <typename Work>
double Seconds(Work work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

std::vector<PassFigures> RunPassBench(const PassBenchOptions& options) {
  const proto::ModelConfig config = proto::LoadModelConfig(options.model_dir);
  const shard::Checkpoint checkpoint = shard::Checkpoint::Open(options.model_dir);
  const proto::PlanLimits limits = {
      .max_rows = 16384, .max_reads = 1024, .pass_kv_rows = 2 * 16384, .kept_kv_rows = 0};
  proto::Communicator group = proto::Communicator::World();
  shard::OpenBlasBackend backend;
  shard::ThreadPool pool(options.threads);
  shard::Transformer transformer(config, checkpoint, group, backend,
                                 shard::KernelsFor(shard::DetectInstructionSet()), pool, limits);
  const std::unique_ptr<shard::Doorbell> doorbell = shard::Doorbell::Connect(group);
  shard::PlanRunner runner(group, config, transformer, *doorbell);
  if (!group.is_root()) {
    runner.Follow();
    return {};
  }
  RawGemms raw(config, proto::MakePartition(config, 0, group.size()), options.threads);
  std::vector<PassFigures> all;
  for (const Workload& workload : options.workloads) {
    const Plans plans = MakePlans(workload, config.vocab_size, limits);
    PassFigures figures;
    figures.workload = workload;
    figures.rows = static_cast<std::int64_t>(plans.packed.tokens.size());
    figures.one_by_one_rows = 0;
    for (const ForwardPlan& plan : plans.one_by_one) {
      figures.one_by_one_rows += static_cast<std::int64_t>(plan.tokens.size());
    }
    const auto reads = static_cast<std::int64_t>(plans.packed.reads.size());
    figures.raw_operations = raw.Operations(figures.rows, reads);
    Progress("pass: warming up");
    runner.Run(plans.packed);  // Touches every buffer.
    raw.Run(figures.rows, reads);
    for (int round = 0; round < options.rounds; ++round) {
      Progress("pass: round " + std::to_string(round + 1) + " of " +
               std::to_string(options.rounds));
      figures.pass.values.push_back(Seconds([&] { runner.Run(plans.packed); }));
      figures.raw_gemms.values.push_back(raw.Run(figures.rows, reads));
      figures.one_by_one.values.push_back(Seconds([&] {
        for (const ForwardPlan& plan : plans.one_by_one) {
          runner.Run(plan);
        }
      }));
    }
    all.push_back(std::move(figures));
  }
  runner.StopFollowers();
  return all;
}

}  // namespace scorecast::bench

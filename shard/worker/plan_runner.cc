#include "shard/worker/plan_runner.h"

#include <cstddef>
#include <span>

#include "proto/plan/plan_codec.h"
#include "shard/transformer/answer.h"

namespace scorecast::shard {

PlanRunner::PlanRunner(proto::Communicator& group, const proto::ModelConfig& config,
                       Transformer& transformer)
    : group_(group), transformer_(transformer) {
  for (int rank = 0; rank < group.size(); ++rank) {
    vocabularies_.push_back(proto::MakePartition(config, rank, group.size()).vocabulary);
  }
}

std::vector<proto::RowLogits> PlanRunner::Run(const proto::ForwardPlan& plan) {
  if (group_.size() > 1) {
    group_.BroadcastSized(proto::EncodePlan(plan));
  }
  return MergeAnswers(plan, vocabularies_, Compute(plan));
}

void PlanRunner::StopFollowers() {
  // A plan is never of no bytes.
  group_.BroadcastSized({});
}

void PlanRunner::Follow() {
  while (true) {
    const std::vector<std::byte> bytes = group_.BroadcastSized({});
    if (bytes.empty()) {
      return;
    }
    Compute(proto::DecodePlan(bytes));
  }
}

std::vector<std::byte> PlanRunner::Compute(const proto::ForwardPlan& plan) {
  const std::vector<std::byte> mine = transformer_.Forward(plan);
  std::vector<int> counts;
  std::size_t total = 0;
  for (const proto::Range& vocabulary : vocabularies_) {
    counts.push_back(static_cast<int>(LayOutAnswer(plan, vocabulary).bytes));
    total += static_cast<std::size_t>(counts.back());
  }
  std::vector<std::byte> all(group_.is_root() ? total : 0);
  group_.GatherToRoot(mine, counts, all);
  return all;
}

}  // namespace scorecast::shard

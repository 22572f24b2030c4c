#include "shard/worker/plan_runner.h"

#include <cstddef>
#include <exception>
#include <numeric>
#include <span>

#include "proto/base/check.h"
#include "proto/plan/plan_codec.h"
#include "shard/readout/partial_logits.h"

namespace scorecast::shard {

PlanRunner::PlanRunner(proto::Communicator& group, const proto::ModelConfig& config,
                       Transformer& transformer, Doorbell& doorbell)
    : group_(group), transformer_(transformer), doorbell_(doorbell) {
  for (int rank = 0; rank < group.size(); ++rank) {
    vocabularies_.push_back(proto::MakePartition(config, rank, group.size()).vocabulary);
  }
}

std::vector<proto::RowLogits> PlanRunner::Run(const proto::ForwardPlan& plan) {
  if (group_.size() > 1) {
    std::vector<std::byte> bytes = proto::EncodePlan(plan);
    doorbell_.RingAll(bytes.size());
    group_.Broadcast(bytes);
  }
  return MergePartialLogits(plan, vocabularies_, Compute(plan));
}

void PlanRunner::StopFollowers() {
  if (!is_stopped_) {
    is_stopped_ = true;
    doorbell_.RingAll(0);
  }
}

void PlanRunner::Follow() {
  while (FollowOne()) {
  }
}

bool PlanRunner::FollowOne() {
  if (is_stopped_) {
    return false;
  }
  const Ring ring = doorbell_.Wait();
  if (ring.plan_bytes == 0) {
    is_stopped_ = true;
    return false;
  }
  Compute(Receive(ring.plan_bytes));
  return true;
}

proto::ForwardPlan PlanRunner::Receive(std::uint64_t plan_bytes) {
  std::vector<std::byte> bytes(plan_bytes);
  group_.Broadcast(bytes);
  return proto::DecodePlan(bytes);
}

std::vector<std::byte> PlanRunner::Compute(const proto::ForwardPlan& plan) {
  std::vector<std::byte> mine;
  try {
    mine = transformer_.Forward(plan);
  } catch (const std::exception& fault) {
    // The other ranks wait for this one in the middle of the pass; only the job's end frees them.
    proto::Check(false, fault.what());
  }
  if (group_.size() == 1) {
    return mine;
  }
  std::vector<std::size_t> counts;
  for (const proto::Range& vocabulary : vocabularies_) {
    counts.push_back(LayOutPartialLogits(plan, vocabulary).bytes);
  }
  const std::size_t total = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  std::vector<std::byte> all(group_.is_root() ? total : 0);
  group_.GatherToRoot(mine, counts, all);
  return all;
}

}  // namespace scorecast::shard

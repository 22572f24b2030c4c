#include "shard/worker/plan_runner.h"

#include <chrono>
#include <cstddef>
#include <exception>
#include <span>

#include "proto/base/check.h"
#include "proto/plan/plan_codec.h"
#include "shard/readout/partial_logits.h"

namespace scorecast::shard {

PlanRunner::PlanRunner(proto::Communicator& group, const proto::ModelConfig& config,
                       Transformer& transformer, Doorbell& doorbell, Progress& progress,
                       const RankWatch& watch)
    : group_(group),
      transformer_(transformer),
      doorbell_(doorbell),
      progress_(progress),
      watch_(watch) {
  for (int rank = 0; rank < group.size(); ++rank) {
    vocabularies_.push_back(proto::MakePartition(config, rank, group.size()).vocabulary);
  }
}

template <typename Call>
void PlanRunner::Wait(const Call& call) {
  progress_.BeginWait(Progress::Clock::now());
  call();
  progress_.EndWait(Progress::Clock::now());
}

std::vector<proto::RowLogits> PlanRunner::Run(const proto::ForwardPlan& plan) {
  const auto begin = Progress::Clock::now();
  progress_.BeginPass(times_.Expected(plan.bucket));
  if (group_.size() > 1) {
    std::vector<std::byte> bytes = proto::EncodePlan(plan);
    doorbell_.RingAll(bytes.size());
    Wait([&] { group_.Broadcast(bytes); });
  }
  std::vector<proto::RowLogits> rows = MergePartialLogits(plan, vocabularies_, Compute(plan));
  progress_.EndPass();
  const std::chrono::duration<double> took = Progress::Clock::now() - begin;
  times_.Add(plan.bucket, took.count());
  return rows;
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
  std::vector<std::byte> bytes(ring.plan_bytes);
  progress_.BeginPass(/*expected_seconds=*/0);
  Wait([&] { group_.Broadcast(bytes); });
  Compute(proto::DecodePlan(bytes));
  progress_.EndPass();
  return true;
}

std::vector<std::byte> PlanRunner::Compute(const proto::ForwardPlan& plan) {
  std::vector<std::byte> mine;
  try {
    mine = transformer_.Forward(plan);
  } catch (const std::exception& fault) {
    // The other ranks wait for this one in the middle of the pass; only the job's end frees them.
    proto::Check(false, fault.what());
  }
  std::vector<int> counts;
  std::size_t total = 0;
  for (const proto::Range& vocabulary : vocabularies_) {
    counts.push_back(static_cast<int>(LayOutPartialLogits(plan, vocabulary).bytes));
    total += static_cast<std::size_t>(counts.back());
  }
  std::vector<std::byte> all(group_.is_root() ? total : 0);
  Wait([&] { group_.GatherToRoot(mine, counts, all); });
  return all;
}

}  // namespace scorecast::shard

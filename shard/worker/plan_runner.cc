#include "shard/worker/plan_runner.h"

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <numeric>
#include <span>

#include "proto/base/check.h"
#include "proto/mpi/agreement.h"
#include "proto/plan/plan_codec.h"
#include "shard/checkpoint/weight_file.h"

namespace scorecast::shard {

namespace {

/// Ends this process and thereby the job. The other ranks wait for this one in the middle of a
/// pass; only the end of the job frees them.
[[noreturn]] void EndForChangedFile(const FileChanged& fault, int rank) {
  std::fprintf(stderr, "scorecast: rank %d on host %s: %s: the job ends\n", rank,
               proto::HostName().c_str(), fault.what());
  std::fflush(stderr);
  std::quick_exit(kWeightsChangedExitCode);
}

}  // namespace

PlanRunner::PlanRunner(proto::Communicator& group, Transformer& transformer, Doorbell& doorbell,
                       Progress& progress, const RankWatch& watch)
    : group_(group),
      transformer_(transformer),
      doorbell_(doorbell),
      progress_(progress),
      watch_(watch) {}

template <typename Call>
void PlanRunner::Wait(proto::RankOperation operation, std::size_t received_bytes,
                      const Call& call) {
  progress_.BeginWait(Progress::Clock::now());
  call();
  progress_.EndWait(Progress::Clock::now(), operation, received_bytes);
}

std::vector<proto::RowLogits> PlanRunner::Run(const proto::ForwardPlan& plan) {
  const auto begin = Progress::Clock::now();
  progress_.BeginPass(times_.Expected(plan.bucket));
  if (group_.size() > 1) {
    std::vector<std::byte> bytes = proto::EncodePlan(plan);
    doorbell_.RingAll(bytes.size());
    Wait(proto::RankOperation::kBroadcast, 0, [&] { group_.Broadcast(bytes); });
  }
  std::vector<proto::RowLogits> rows = transformer_.Merge(plan, Compute(plan));
  progress_.EndPass();
  const std::chrono::duration<double> took = Progress::Clock::now() - begin;
  times_.Add(plan.bucket, took.count());
  return rows;
}

void PlanRunner::ParallelFor(std::int64_t count, const std::function<void(std::int64_t)>& task) {
  transformer_.pool().ParallelFor(count, [&](std::int64_t i, int) { task(i); });
}

void PlanRunner::CheckWeights() const {
  try {
    transformer_.CheckWeights();
  } catch (const FileChanged& fault) {
    EndForChangedFile(fault, group_.rank());
  }
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
  progress_.BeginPass(/*expected_seconds=*/0);
  Compute(Receive(ring.plan_bytes));
  progress_.EndPass();
  return true;
}

proto::ForwardPlan PlanRunner::Receive(std::uint64_t plan_bytes) {
  std::vector<std::byte> bytes(plan_bytes);
  Wait(proto::RankOperation::kBroadcast, bytes.size(), [&] { group_.Broadcast(bytes); });
  return proto::DecodePlan(bytes);
}

std::vector<std::byte> PlanRunner::Compute(const proto::ForwardPlan& plan) {
  std::vector<std::byte> mine;
  try {
    mine = transformer_.Forward(plan);
  } catch (const FileChanged& fault) {
    EndForChangedFile(fault, group_.rank());
  } catch (const std::exception& fault) {
    // The other ranks wait for this one in the middle of the pass; only the end of the job frees
    // them.
    proto::Check(false, fault.what());
  }
  if (group_.size() == 1) {
    return mine;
  }
  const std::vector<std::size_t> counts = transformer_.PartialBytes(plan);
  const std::size_t total = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  std::vector<std::byte> all(group_.is_root() ? total : 0);
  const std::size_t received = group_.is_root() ? total - mine.size() : 0;
  Wait(proto::RankOperation::kGather, received, [&] { group_.GatherToRoot(mine, counts, all); });
  return all;
}

}  // namespace scorecast::shard

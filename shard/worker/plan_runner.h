#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "proto/mpi/communicator.h"
#include "proto/plan/cluster_status.h"
#include "proto/plan/forward_plan.h"
#include "proto/plan/rank_work.h"
#include "proto/plan/row_logits.h"
#include "shard/model/transformer.h"
#include "shard/runtime/progress.h"
#include "shard/worker/doorbell.h"
#include "shard/worker/pass_times.h"
#include "shard/worker/rank_watch.h"

namespace scorecast::shard {

/// Exit code of a rank whose files of weights were changed while they are in use.
inline constexpr int kWeightsChangedExitCode = 74;

/// Carries plans from rank 0 to every rank of a group, and their partial logits back. Only the
/// thread that calls MPI may call this object.
class PlanRunner {
 public:
  /// `progress` is the one that `watch` reads.
  PlanRunner(proto::Communicator& group, Transformer& transformer, Doorbell& doorbell,
             Progress& progress, const RankWatch& watch);

  /// On rank 0: broadcasts the plan, computes this rank's share and gathers the others'. Returns
  /// one RowLogits for each read.
  std::vector<proto::RowLogits> Run(const proto::ForwardPlan& plan);
  /// On rank 0, between passes: calls task(i) for every i in [0, count) on the threads that
  /// compute.
  void ParallelFor(std::int64_t count, const std::function<void(std::int64_t)>& task);
  /// Ends the process, and with it the job, if this rank's files of weights were changed. Called
  /// between passes; each pass does the same.
  void CheckWeights() const;
  /// On rank 0: makes the other ranks return from Follow, for good.
  void StopFollowers();

  /// On rank 0. Any thread may call it.
  proto::ClusterStatus Status() const { return watch_.Status(); }

  /// On the other ranks: computes the plans that rank 0 broadcasts, and sleeps between them, until
  /// rank 0 stops the followers.
  void Follow();
  /// Follows one plan. Returns false if rank 0 has stopped the followers.
  bool FollowOne();

 private:
  /// Receives the plan that rank 0 broadcasts in this number of bytes.
  proto::ForwardPlan Receive(std::uint64_t plan_bytes);
  /// Computes this rank's share. Ends the process if the files of weights were changed. On rank 0
  /// returns the partial logits of all ranks in rank order.
  std::vector<std::byte> Compute(const proto::ForwardPlan& plan);
  /// Runs a collective call as a step of the pass, in which this rank waits for others.
  template <typename Call>
  void Wait(proto::RankOperation operation, std::size_t received_bytes, const Call& call);

  proto::Communicator& group_;
  Transformer& transformer_;
  Doorbell& doorbell_;
  Progress& progress_;
  const RankWatch& watch_;
  PassTimes times_;  // On rank 0.
  bool is_stopped_ = false;
};

}  // namespace scorecast::shard

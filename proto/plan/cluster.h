#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "proto/plan/cluster_status.h"
#include "proto/plan/forward_plan.h"
#include "proto/plan/row_logits.h"

namespace scorecast::proto {

/// The coordinator's only interface to the computation of plans, by a tensor-parallel group or by a
/// fake in tests.
class Cluster {
 public:
  /// Receives one RowLogits for each read of the plan, in the order of the reads.
  using PlanDone = std::function<void(std::vector<RowLogits>)>;

  virtual ~Cluster() = default;

  /// Queues a plan that is within `limits()`, and returns at once. Plans are computed in the order
  /// in which they are submitted. `done` is called once, on the computing thread, and must return
  /// soon; it may call Submit. Any thread may call Submit.
  virtual void Submit(ForwardPlan plan, PlanDone done) = 0;

  /// Calls task(i) for every i in [0, count) on the threads that compute, and returns when all are
  /// done. Only a `done` may call it. The result of a task must not depend on its thread.
  virtual void ParallelFor(std::int64_t count, const std::function<void(std::int64_t)>& task) {
    for (std::int64_t i = 0; i < count; ++i) {
      task(i);
    }
  }

  virtual const PlanLimits& limits() const = 0;

  /// Any thread may call it, also while a plan is computed.
  virtual ClusterStatus Status() const = 0;
};

}  // namespace scorecast::proto

#pragma once

#include <functional>
#include <vector>

#include "proto/plan/forward_plan.h"
#include "proto/plan/row_logits.h"

namespace scorecast::proto {

/// The coordinator's one seam to what computes: a tensor-parallel group, or a fake one in tests.
class Cluster {
 public:
  /// One RowLogits for each of the plan's reads, in their order.
  using PlanDone = std::function<void(std::vector<RowLogits>)>;

  virtual ~Cluster() = default;

  /// Queues a plan that keeps `limits()`; returns at once. Plans are computed in the order in which
  /// they come. `done` is called once, on the computing thread, and must return soon; it may call
  /// Submit. Safe to call from any thread.
  virtual void Submit(ForwardPlan plan, PlanDone done) = 0;

  virtual const PlanLimits& limits() const = 0;
};

}  // namespace scorecast::proto

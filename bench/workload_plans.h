#pragma once

#include <cstdint>
#include <vector>

#include "bench/workload.h"
#include "proto/plan/forward_plan.h"

namespace scorecast::bench {

// Plans of a workload for the engine. The last row of each item is read with two labels and the
// whole vocabulary's normalizer. Each plan must fit one pass of `limits` (Check), which are also
// those of the model.

/// All texts in one pass, or all items, or the query alone if there are no items.
proto::ForwardPlan PackedPlan(const Workload& workload, std::int64_t vocab_size,
                              const proto::PlanLimits& limits);

/// The same scores one by one: a plan of query and item for each of the first `most` items.
std::vector<proto::ForwardPlan> OneByOnePlans(const Workload& workload, std::int64_t vocab_size,
                                              const proto::PlanLimits& limits, std::int64_t most);

}  // namespace scorecast::bench

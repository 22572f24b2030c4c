#pragma once

#include <cstdint>
#include <vector>

#include "bench/workload.h"
#include "proto/plan/forward_plan.h"

namespace scorecast::bench {

// Plans that the engine computes for a workload. Each item's last row is read against two labels,
// over the whole vocabulary. They must fit one pass of `limits` (Check).

/// All items in one pass; the query alone where there are none.
proto::ForwardPlan PackedPlan(const Workload& workload, std::int64_t vocab_size,
                              const proto::PlanLimits& limits);

/// The same scores item by item: query and item as one text, at most `most` of them.
std::vector<proto::ForwardPlan> OneByOnePlans(const Workload& workload, std::int64_t vocab_size,
                                              const proto::PlanLimits& limits, std::int64_t most);

}  // namespace scorecast::bench

#pragma once

#include <functional>
#include <vector>

#include "launcher/engine/engine.h"
#include "proto/plan/forward_plan.h"
#include "proto/plan/row_logits.h"

namespace scorecast::launcher {

/// Computes a plan on all ranks and returns one RowLogits for each read.
using ComputePlan = std::function<std::vector<proto::RowLogits>(const proto::ForwardPlan&)>;

/// Called on every rank, after Engine::Load and before a service begins. Rank 0 calls `passes`,
/// which may compute any number of plans; the other ranks follow until it has returned.
void RunStartupPasses(Engine& engine, const std::function<void(const ComputePlan&)>& passes);

}  // namespace scorecast::launcher

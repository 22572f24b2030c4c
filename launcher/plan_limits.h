#pragma once

#include <cstdint>

#include "launcher/engine_flags.h"
#include "proto/model/model_config.h"
#include "proto/plan/forward_plan.h"

namespace scorecast::launcher {

/// What the largest plan may be under these flags, for a group of `ranks` of which `ranks_here`
/// share this host's `host_bytes` of memory. Any request that the flags admit fits.
///
/// The flags bound a request in multi-item mode, so its K/V must fit. One by one it is only the
/// model's positions that bound a prompt, which nobody chose: there, K/V kept from pass to pass
/// takes at most half of what the rest leaves, and longer prompts are refused one by one.
///
/// StartupError, with the figures, where the buffers cannot be held in memory.
proto::PlanLimits MakePlanLimits(const EngineFlags& flags, const proto::ModelConfig& config,
                                 shard::Precision precision, int ranks, int ranks_here,
                                 std::int64_t host_bytes);

/// Memory of this host, or of the control group that this process is in, in bytes.
std::int64_t HostMemory();

}  // namespace scorecast::launcher

#pragma once

#include <cstdint>

#include "launcher/engine_flags.h"
#include "proto/model/model_config.h"
#include "proto/plan/forward_plan.h"

namespace scorecast::launcher {

struct EngineLimits {
  proto::PlanLimits plan;
  /// Pages of K/V that stay cached: --kv-cache-mb, as far as `plan` has them.
  std::int32_t cached_pages = 0;
  std::int64_t page_bytes = 0;  ///< Of a page on rank 0, over all layers.
};

/// What the largest plan may be under these flags, for a group of `ranks` of which `ranks_here`
/// share this host's `host_bytes` of memory. Any request that the flags admit fits.
///
/// The flags bound a request in multi-item mode, so its K/V must fit. All else is bounded by the
/// model's positions, which nobody chose: K/V kept from pass to pass for it takes at most half of
/// what the rest leaves, and longer requests are refused one by one. The cache and what is kept for
/// requests under way share their pages. Without --kv-cache-mb the cache takes a quarter of what
/// the rest leaves, and 1024 MB at most.
///
/// StartupError, with the figures, where the buffers cannot be held in memory.
EngineLimits MakeEngineLimits(const EngineFlags& flags, const proto::ModelConfig& config,
                              shard::Precision precision, int ranks, int ranks_here,
                              std::int64_t host_bytes);

/// Memory of this host, or of the control group that this process is in, in bytes.
std::int64_t HostMemory();

}  // namespace scorecast::launcher

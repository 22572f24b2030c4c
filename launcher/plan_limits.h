#pragma once

#include <cstdint>

#include "launcher/engine_flags.h"
#include "proto/model/model_config.h"
#include "proto/plan/forward_plan.h"

namespace scorecast::launcher {

struct EngineLimits {
  proto::PlanLimits plan;
  /// Pages of K/V that stay cached: --kv-cache-mb, but not more than `plan` has.
  std::int32_t cached_pages = 0;
  std::int64_t page_bytes = 0;  ///< Bytes of a page on rank 0, over all layers.
};

/// The largest plan under these flags, for a group of `ranks` of which `ranks_here` share this
/// host's `host_bytes` of memory. Every request that the flags admit fits.
///
/// The flags bound a request in multi-item mode, so its K/V must fit. Other requests are bounded
/// only by the model's positions. K/V kept between passes for them takes at most half of the memory
/// that is left, and longer requests are refused one by one. The cache and running requests share
/// pages. Without --kv-cache-mb the cache takes a quarter of the memory that is left, at most
/// 1024 MB.
///
/// StartupError, with the figures, if the buffers do not fit into memory.
EngineLimits MakeEngineLimits(const EngineFlags& flags, const proto::ModelConfig& config,
                              shard::ProductPrecisions precisions, int ranks, int ranks_here,
                              std::int64_t host_bytes);

/// Bytes of memory of this host or, if it is less, of this process's control group.
std::int64_t HostMemory();

}  // namespace scorecast::launcher

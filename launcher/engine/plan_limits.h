#pragma once

#include <cstdint>

#include "launcher/engine/engine_flags.h"
#include "launcher/host/host_resources.h"
#include "proto/model/model_config.h"
#include "proto/plan/forward_plan.h"
#include "shard/model/memory_estimate.h"

namespace scorecast::launcher {

struct EngineLimits {
  proto::PlanLimits plan;
  /// Pages of K/V that may stay cached: the number that --kv-cache-mb gives, but at most all pages
  /// of `plan`.
  std::int32_t cached_pages = 0;
  /// Bytes of one page, all layers together, on the rank with the most K/V heads.
  std::int64_t page_bytes = 0;
};

/// Limits of the largest plan under these flags, for a group of `ranks`, and this rank's share of
/// memory.
///
/// The flags limit the size of a request under SGLang's rules, so there is always room for its K/V.
/// The size of other requests is limited by the model's positions only. The K/V kept between their
/// passes takes at most half of the memory that weights and buffers leave; a request that needs
/// more is refused. The cache and the running requests share these pages. All ranks have the same
/// number of pages, so the rank with the most K/V heads takes what --kv-cache-mb allows, and a rank
/// with fewer heads takes less. Without --kv-cache-mb the cache takes a quarter of the memory that
/// weights and buffers leave, and at most 1024 MB. A
/// bidirectional model caches nothing; what waits between the steps of its longest text takes at
/// most half of that memory, too, and the reserve for short texts at most half of the rest.
///
/// Throws StartupError with the figures if the buffers do not fit in memory.
EngineLimits MakeEngineLimits(const EngineFlags& flags, const proto::ModelConfig& config,
                              const shard::HeldWeights& weights, int ranks,
                              const MemoryShare& memory);

}  // namespace scorecast::launcher

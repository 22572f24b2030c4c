#pragma once

#include "coordinator/schedule/pages/block_cache.h"
#include "launcher/engine/engine.h"

namespace scorecast::launcher {

/// Logs one line with the hits, size and evictions of the K/V cache. Logs nothing if the cache is
/// off.
void LogCache(const coordinator::BlockCacheCounters& counters, const Engine& engine);

}  // namespace scorecast::launcher

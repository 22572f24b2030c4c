#pragma once

#include "coordinator/schedule/block_cache.h"
#include "launcher/engine.h"

namespace scorecast::launcher {

/// Logs one line about the hits, the size and the evictions of the K/V cache. No line if it is off.
void LogCache(const coordinator::BlockCacheCounters& counters, const Engine& engine);

}  // namespace scorecast::launcher

#pragma once

#include "coordinator/schedule/block_cache.h"
#include "launcher/engine.h"

namespace scorecast::launcher {

/// What the cache of keys and values was good for, in one line; none where it is off.
void LogCache(const coordinator::BlockCacheCounters& counters, const Engine& engine);

}  // namespace scorecast::launcher

#include "launcher/cache_log.h"

#include <spdlog/spdlog.h>

namespace scorecast::launcher {

void LogCache(const coordinator::BlockCacheCounters& counters, const Engine& engine) {
  if (engine.cached_pages() > 0) {
    const auto bytes = static_cast<double>(counters.cached_pages * engine.page_bytes());
    spdlog::info("cache: {} of {} tokens found, {:.2f} MB held on a rank, {} pages evicted",
                 counters.hit_tokens, counters.asked_tokens, bytes * 1e-6, counters.evicted_pages);
  }
}

}  // namespace scorecast::launcher

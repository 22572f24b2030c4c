#include "launcher/log/cache_log.h"

#include <spdlog/spdlog.h>

#include "proto/base/count.h"

namespace scorecast::launcher {

void LogCache(const coordinator::BlockCacheCounters& counters, const Engine& engine) {
  if (engine.cached_pages() > 0) {
    const auto bytes = static_cast<double>(counters.cached_pages * engine.page_bytes());
    spdlog::info("cache: {} of {} found, {:.2f} MB held on a rank, {} evicted", counters.hit_tokens,
                 proto::Count(counters.asked_tokens, "token"), bytes * 1e-6,
                 proto::Count(counters.evicted_pages, "page"));
  }
}

}  // namespace scorecast::launcher

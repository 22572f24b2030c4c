#include "tests/e2e/cache_log.h"

#include <cinttypes>
#include <cstdio>

#include <gtest/gtest.h>

namespace scorecast::testing {

CacheLine LastCacheLine(const std::string& log) {
  CacheLine line;
  const std::size_t begin = log.rfind("cache: ");
  if (begin == std::string::npos ||
      std::sscanf(log.c_str() + begin,
                  "cache: %" SCNd64 " of %" SCNd64 " %*s found, %lf MB held on a rank, %" SCNd64,
                  &line.found, &line.asked, &line.megabytes, &line.evicted) != 4) {
    ADD_FAILURE() << "the log has no cache line: " << log;
  }
  return line;
}

}  // namespace scorecast::testing

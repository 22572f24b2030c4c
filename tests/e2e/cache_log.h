#pragma once

#include <cstdint>
#include <string>

namespace scorecast::testing {

/// `cache: H of A tokens found, X MB held on a rank, E pages evicted`
struct CacheLine {
  std::int64_t found = -1;
  std::int64_t asked = -1;
  double megabytes = -1;
  std::int64_t evicted = -1;
};

/// Parses the last such line of a log. The test fails if the log has none.
CacheLine LastCacheLine(const std::string& log);

}  // namespace scorecast::testing

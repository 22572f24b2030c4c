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

/// The last such line of a log. A failure of the test where there is none.
CacheLine LastCacheLine(const std::string& log);

}  // namespace scorecast::testing

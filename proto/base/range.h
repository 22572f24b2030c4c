#pragma once

#include <cstdint>

namespace scorecast::proto {

/// The half-open range [begin, end).
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t size() const { return end - begin; }
  bool empty() const { return begin == end; }
  bool Contains(std::int64_t i) const { return begin <= i && i < end; }
  bool operator==(const Range&) const = default;
};

}  // namespace scorecast::proto

#include "coordinator/schedule/pages/page_ranges.h"

#include <algorithm>

#include "proto/base/check.h"

namespace scorecast::coordinator {

std::optional<std::int64_t> PageRanges::Take(std::int64_t pages, proto::Range among) {
  proto::Check(pages > 0, "a range has pages");
  std::int64_t first = among.begin;
  for (const auto& [taken, end] : taken_) {
    if (taken >= first + pages) {
      break;  // The gap before this range is large enough.
    }
    first = std::max(first, end);
  }
  if (first + pages > among.end) {
    return std::nullopt;
  }
  taken_.emplace(first, first + pages);
  return first;
}

void PageRanges::Give(std::int64_t first) {
  proto::Check(taken_.erase(first) == 1, "a range is given back once");
}

}  // namespace scorecast::coordinator

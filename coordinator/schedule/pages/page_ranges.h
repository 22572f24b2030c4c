#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "proto/base/range.h"

namespace scorecast::coordinator {

/// Hands out pages that follow each other: of all places where a range of them fits, the first one.
class PageRanges {
 public:
  /// The first page of `pages` free ones, which are all in `among`; they are taken now. Nothing if
  /// there are none.
  std::optional<std::int64_t> Take(std::int64_t pages, proto::Range among);
  /// Frees the range that begins at `first`.
  void Give(std::int64_t first);

 private:
  std::map<std::int64_t, std::int64_t> taken_;  // The end of each range, by its first page.
};

}  // namespace scorecast::coordinator

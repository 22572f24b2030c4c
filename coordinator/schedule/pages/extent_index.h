#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "coordinator/schedule/pages/extents.h"

namespace scorecast::coordinator {

/// Finds the extent that is best taken next: which granules of all pages are free, which are held,
/// and since when the others are idle. An idle granule has K/V that can be evicted.
///
/// Granules that are free or idle are indexed in blocks of 1, 2 or 4 granules, as large as possible
/// and aligned to their size, as in a buddy allocator. The time of a block is that of its granule
/// that was used last.
class ExtentIndex {
 public:
  /// Times of use. Those of idle granules lie between these.
  static constexpr std::uint64_t kFree = 0;
  static constexpr std::uint64_t kHeld = std::numeric_limits<std::uint64_t>::max();

  /// All pages are free.
  explicit ExtentIndex(std::int32_t pages);

  void Set(const Extent& extent, std::uint64_t last_used);

  /// An extent of `rows` rows without held granules, in the block that was not used for the longest
  /// time; of several free blocks, in the smallest. Nothing if no block is large enough. Three
  /// granules need a block of four.
  std::optional<Extent> Oldest(std::int32_t rows) const;
  /// An extent of `rows` rows of a page that are free, in the smallest block that is free.
  std::optional<Extent> FreeIn(std::int32_t page, std::int32_t rows) const;
  /// The block with idle granules that was not used for the longest time.
  std::optional<Extent> OldestIdle() const;

  /// Number of pages without held granules.
  std::int64_t unheld_pages() const { return static_cast<std::int64_t>(blocks_.back().size()); }

 private:
  /// By the time of their last use: the first granules of blocks.
  using Blocks = std::set<std::pair<std::uint64_t, std::int32_t>>;

  /// When the last used of these granules was used.
  std::uint64_t LastUsed(std::int32_t first, std::int32_t granules) const;
  /// Calls visit(log2 of its granules, block) for each block of a page.
  template <typename Visit>
  void VisitBlocks(std::int32_t page, const Visit& visit) const;

  std::vector<std::uint64_t> last_used_;  // [granules]
  std::array<Blocks, 3> blocks_;          // [log2 of their granules]
};

}  // namespace scorecast::coordinator

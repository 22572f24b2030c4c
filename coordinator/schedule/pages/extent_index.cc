#include "coordinator/schedule/pages/extent_index.h"

#include <algorithm>
#include <bit>
#include <tuple>

#include "proto/base/check.h"

namespace scorecast::coordinator {
namespace {

using proto::kKvGranule;
using proto::kKvPageRows;

constexpr std::int32_t kPageGranules = kKvPageRows / kKvGranule;

/// An extent of granules.
constexpr Extent OfGranules(std::int32_t first, std::int32_t granules) {
  return {first * kKvGranule, granules * kKvGranule};
}

}  // namespace

ExtentIndex::ExtentIndex(std::int32_t pages)
    : last_used_(static_cast<std::size_t>(pages) * kPageGranules, kFree) {
  static_assert(kPageGranules == 4);
  for (std::int32_t page = 0; page < pages; ++page) {
    blocks_.back().emplace_hint(blocks_.back().end(), kFree, page * kPageGranules);
  }
}

std::uint64_t ExtentIndex::LastUsed(std::int32_t first, std::int32_t granules) const {
  const auto begin = last_used_.begin() + first;
  return *std::max_element(begin, begin + granules);
}

template <typename Visit>
void ExtentIndex::VisitBlocks(std::int32_t page, const Visit& visit) const {
  const std::int32_t end = (page + 1) * kPageGranules;
  for (std::int32_t first = page * kPageGranules; first < end;) {
    // From the largest block that is aligned here to the smallest.
    std::int32_t granules = first % kPageGranules == 0 ? kPageGranules : first % 2 == 0 ? 2 : 1;
    while (granules > 1 && LastUsed(first, granules) == kHeld) {
      granules /= 2;
    }
    const std::uint64_t last_used = LastUsed(first, granules);
    if (last_used != kHeld) {
      visit(static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(granules))),
            Blocks::value_type(last_used, first));
    }
    first += granules;
  }
}

void ExtentIndex::Set(const Extent& extent, std::uint64_t last_used) {
  const std::int32_t page = extent.page();
  const std::int32_t first = extent.first / kKvGranule;
  const std::int32_t granules = extent.rows / kKvGranule;
  proto::Check(granules > 0 && first + granules <= (page + 1) * kPageGranules,
               "an extent lies in one page");
  VisitBlocks(page, [&](std::size_t size, const auto& block) { blocks_[size].erase(block); });
  std::fill_n(last_used_.begin() + first, granules, last_used);
  VisitBlocks(page, [&](std::size_t size, const auto& block) { blocks_[size].insert(block); });
}

std::optional<Extent> ExtentIndex::FreeIn(std::int32_t page, std::int32_t rows) const {
  std::optional<Extent> found;
  std::int32_t smallest = kPageGranules + 1;
  VisitBlocks(page, [&](std::size_t size, const Blocks::value_type& block) {
    const std::int32_t granules = std::int32_t{1} << size;
    if (block.first == kFree && rows <= granules * kKvGranule && granules < smallest) {
      smallest = granules;
      found = Extent{block.second * kKvGranule, rows};
    }
  });
  return found;
}

std::optional<Extent> ExtentIndex::Oldest(std::int32_t rows) const {
  const std::int32_t granules = rows / kKvGranule;
  std::int32_t block_granules = 0;
  std::uint64_t oldest = kHeld;
  std::int32_t first = 0;
  for (auto size = std::bit_ceil(static_cast<unsigned>(granules)); size <= kPageGranules;
       size *= 2) {
    const Blocks& blocks = blocks_[static_cast<std::size_t>(std::countr_zero(size))];
    if (!blocks.empty() && blocks.begin()->first < oldest) {
      std::tie(oldest, first) = *blocks.begin();
      block_granules = static_cast<std::int32_t>(size);
    }
  }
  if (oldest == kHeld) {
    return std::nullopt;
  }
  // Half by half, the older part of the block. Of three granules, those on the older side.
  while (block_granules > granules) {
    block_granules = std::max(block_granules / 2, granules);
    const std::int32_t other = first + (granules == 3 ? 1 : block_granules);
    if (LastUsed(other, block_granules) < LastUsed(first, block_granules)) {
      first = other;
    }
  }
  return OfGranules(first, granules);
}

std::optional<Extent> ExtentIndex::OldestIdle() const {
  std::optional<Extent> found;
  std::uint64_t oldest = kHeld;
  for (std::size_t size = 0; size < blocks_.size(); ++size) {
    const auto block = blocks_[size].lower_bound({kFree + 1, 0});
    if (block != blocks_[size].end() && block->first < oldest) {
      oldest = block->first;
      found = OfGranules(block->second, std::int32_t{1} << size);
    }
  }
  return found;
}

}  // namespace scorecast::coordinator

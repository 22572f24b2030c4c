#include "coordinator/schedule/pages/page_ranges.h"

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace scorecast::coordinator {
namespace page_ranges_test {

TEST(PageRanges, AreTheFirstThatFit) {
  PageRanges ranges;
  EXPECT_EQ(ranges.Take(3, {0, 10}), 0);
  EXPECT_EQ(ranges.Take(2, {0, 10}), 3);
  EXPECT_EQ(ranges.Take(4, {0, 10}), 5);
  EXPECT_EQ(ranges.Take(2, {0, 10}), std::nullopt) << "one page is left";
  EXPECT_EQ(ranges.Take(1, {0, 10}), 9);
  ranges.Give(3);
  ranges.Give(9);
  EXPECT_EQ(ranges.Take(3, {0, 10}), std::nullopt) << "three are free, but they are apart";
  EXPECT_EQ(ranges.Take(1, {0, 10}), 3);
  EXPECT_EQ(ranges.Take(1, {0, 10}), 4);
  EXPECT_EQ(ranges.Take(1, {0, 10}), 9);
}

TEST(PageRanges, FreeNeighboursAreOneRange) {
  PageRanges ranges;
  for (const std::int64_t first : {0, 2, 4, 6}) {
    EXPECT_EQ(ranges.Take(2, {0, 8}), first);
  }
  ranges.Give(4);
  ranges.Give(2);
  EXPECT_EQ(ranges.Take(4, {0, 8}), 2);
}

TEST(PageRanges, LieWhereTheyAreWanted) {
  PageRanges ranges;
  EXPECT_EQ(ranges.Take(2, {8, 12}), 8);
  EXPECT_EQ(ranges.Take(3, {8, 12}), std::nullopt);
  EXPECT_EQ(ranges.Take(8, {0, 8}), 0);
  EXPECT_EQ(ranges.Take(1, {0, 8}), std::nullopt) << "others are free, but elsewhere";
  EXPECT_EQ(ranges.Take(2, {0, 12}), 10);
  ranges.Give(0);
  EXPECT_EQ(ranges.Take(2, {7, 12}), std::nullopt);
  EXPECT_EQ(ranges.Take(1, {7, 12}), 7);
}

// The same as of a search page by page.
TEST(PageRanges, AreThoseOfAPlainSearch) {
  constexpr std::int64_t kPages = 40;
  std::mt19937 random(1);
  const auto at_most = [&](std::int64_t n) {
    return std::uniform_int_distribution<std::int64_t>(0, n)(random);
  };
  PageRanges ranges;
  std::vector<bool> is_taken(kPages);
  std::map<std::int64_t, std::int64_t> pages_of;
  const auto set = [&](std::int64_t first, std::int64_t pages, bool taken) {
    for (std::int64_t page = first; page < first + pages; ++page) {
      is_taken[static_cast<std::size_t>(page)] = taken;
    }
  };
  int found = 0;
  for (int round = 0; round < 2000; ++round) {
    if (!pages_of.empty() && at_most(2) == 0) {
      const auto given =
          std::next(pages_of.begin(), at_most(static_cast<std::int64_t>(pages_of.size()) - 1));
      ranges.Give(given->first);
      set(given->first, given->second, false);
      pages_of.erase(given);
      continue;
    }
    const std::int64_t pages = 1 + at_most(8);
    const std::int64_t begin = at_most(kPages);
    const std::int64_t end = begin + at_most(kPages - begin);
    std::optional<std::int64_t> expected;
    for (std::int64_t first = begin; first + pages <= end && !expected; ++first) {
      bool is_free = true;
      for (std::int64_t page = first; page < first + pages; ++page) {
        is_free = is_free && !is_taken[static_cast<std::size_t>(page)];
      }
      expected = is_free ? std::optional(first) : std::nullopt;
    }
    ASSERT_EQ(ranges.Take(pages, {begin, end}), expected);
    if (expected) {
      ++found;
      set(*expected, pages, true);
      pages_of.emplace(*expected, pages);
    }
  }
  EXPECT_GT(found, 300);
}

}  // namespace page_ranges_test
}  // namespace scorecast::coordinator

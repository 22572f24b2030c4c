#include "proto/base/count.h"

#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

namespace scorecast::proto {
namespace count_test {

TEST(Count, TheNounAgreesWithTheNumber) {
  EXPECT_EQ(Count(0, "rank"), "0 ranks");
  EXPECT_EQ(Count(1, "rank"), "1 rank");
  EXPECT_EQ(Count(2, "rank"), "2 ranks");
  EXPECT_EQ(Count(std::size_t{1}, "query", "queries"), "1 query");
  EXPECT_EQ(Count(std::size_t{21}, "query", "queries"), "21 queries");
  EXPECT_EQ(Count(std::numeric_limits<std::uint64_t>::max(), "byte"), "18446744073709551615 bytes");
}

}  // namespace count_test
}  // namespace scorecast::proto

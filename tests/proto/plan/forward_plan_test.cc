#include "proto/plan/forward_plan.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace scorecast::proto {
namespace {

TEST(TokenBucket, IsTheSmallestThatHolds) {
  EXPECT_EQ(TokenBucket(0), 32U);
  EXPECT_EQ(TokenBucket(1), 32U);
  EXPECT_EQ(TokenBucket(32), 32U);
  for (std::uint32_t bucket = 32; bucket <= 65536; bucket *= 2) {
    EXPECT_EQ(TokenBucket(bucket), bucket);
    EXPECT_EQ(TokenBucket(bucket + 1), 2 * bucket);
    EXPECT_EQ(TokenBucket(2 * bucket - 1), 2 * bucket);
  }
}

TEST(KvRows, AreWholeGranules) {
  EXPECT_EQ(KvRows(0), 0);
  EXPECT_EQ(KvRows(1), 16);
  EXPECT_EQ(KvRows(15), 16);
  EXPECT_EQ(KvRows(16), 16);
  EXPECT_EQ(KvRows(17), 32);
}

TEST(PlanSegment, CountsWhatIsComputed) {
  PlanSegment segment;
  segment.compute_begin = 64;
  segment.compute_end = 70;
  EXPECT_EQ(segment.computed(), 6);
}

}  // namespace
}  // namespace scorecast::proto

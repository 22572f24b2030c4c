#include "coordinator/generate/seed.h"

#include <set>

#include <gtest/gtest.h>

namespace scorecast::coordinator {
namespace seed_test {

constexpr std::uint64_t kLimit = std::uint64_t{1} << 53;

TEST(DrawSeed, DrawsAnotherSeedEachTime) {
  std::set<std::uint64_t> seeds;
  for (int i = 0; i < 100; ++i) {
    seeds.insert(DrawSeed());
    EXPECT_LT(*seeds.rbegin(), kLimit);
  }
  EXPECT_EQ(seeds.size(), 100U);
}

TEST(DerivedSeed, FollowsFromTheRunsSeedAndTheLine) {
  std::set<std::uint64_t> seeds;
  for (const std::uint64_t run : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
    for (std::uint64_t line = 0; line < 100; ++line) {
      const std::uint64_t seed = DerivedSeed(run, line);
      EXPECT_EQ(seed, DerivedSeed(run, line));
      EXPECT_LT(seed, kLimit);
      seeds.insert(seed);
    }
  }
  EXPECT_EQ(seeds.size(), 300U);
}

}  // namespace seed_test
}  // namespace scorecast::coordinator

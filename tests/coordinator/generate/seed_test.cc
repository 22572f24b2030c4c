#include "coordinator/generate/seed.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace scorecast::coordinator {
namespace {

constexpr std::uint64_t kLimit = std::uint64_t{1} << 53;

TEST(DrawSeed, DrawsAnotherSeedEachTime) {
  std::set<std::uint64_t> seeds;
  for (int i = 0; i < 100; ++i) {
    seeds.insert(DrawSeed());
    EXPECT_LT(*seeds.rbegin(), kLimit);
  }
  EXPECT_EQ(seeds.size(), 100U);
}

TEST(DerivedSeed, FollowsFromTheRunsSeedAndTheName) {
  std::set<std::uint64_t> seeds;
  for (const std::uint64_t run : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
    for (int name = 0; name < 100; ++name) {
      const std::string text = name == 0 ? "" : std::to_string(name);
      const std::uint64_t seed = DerivedSeed(run, text);
      EXPECT_EQ(seed, DerivedSeed(run, text));
      EXPECT_LT(seed, kLimit);
      seeds.insert(seed);
    }
  }
  EXPECT_EQ(seeds.size(), 300U);
}

}  // namespace
}  // namespace scorecast::coordinator

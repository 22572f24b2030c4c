#include "proto/plan/best_draws.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace scorecast::proto {
namespace best_draws_test {

TEST(IsDrawnBefore, TheLargerSumThenTheSmallerId) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  // Each is drawn before all that follow it.
  const std::vector<DrawnToken> order = {{3, 0, nan}, {8, 0, nan}, {9, 0, 2},
                                         {1, 0, 1},   {2, 0, 1},   {0, 0, -5}};
  for (std::size_t a = 0; a < order.size(); ++a) {
    for (std::size_t b = 0; b < order.size(); ++b) {
      EXPECT_EQ(IsDrawnBefore(order[a], order[b]), a < b) << a << " and " << b;
    }
  }
}

// Few different sums, so that there are ties.
TEST(BestDraws, AreTheFirstOfAllInOrder) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    const auto count = static_cast<std::int32_t>(1 + random() % Draw::kMostTokens);
    BestDraws best(count);
    EXPECT_EQ(best.least(), -std::numeric_limits<double>::infinity());
    std::vector<DrawnToken> all;
    for (TokenId id = 0; id < round % 20; ++id) {
      all.push_back({id, 0, static_cast<double>(random() % 10)});
    }
    std::ranges::shuffle(all, random);
    std::ranges::for_each(all, [&](const DrawnToken& token) { best.Offer(token); });
    std::ranges::sort(all, &IsDrawnBefore);
    all.resize(std::min(all.size(), static_cast<std::size_t>(count)));
    EXPECT_EQ(std::vector(best.tokens().begin(), best.tokens().end()), all);
    EXPECT_EQ(best.is_full(), std::cmp_equal(all.size(), count));
    EXPECT_EQ(best.least(),
              best.is_full() ? all.back().sum : -std::numeric_limits<double>::infinity());
  }
}

}  // namespace best_draws_test
}  // namespace scorecast::proto

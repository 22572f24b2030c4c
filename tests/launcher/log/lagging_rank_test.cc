#include "launcher/log/lagging_rank.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace scorecast::launcher {
namespace lagging_rank_test {

proto::ClusterStatus Status(const std::vector<double>& compute_seconds) {
  proto::ClusterStatus status;
  for (const double seconds : compute_seconds) {
    proto::RankStatus& rank = status.ranks.emplace_back();
    rank.host = "h" + std::to_string(status.ranks.size() - 1);
    rank.work.compute_seconds = seconds;
  }
  return status;
}

TEST(LaggingRank, IsNamedIfItComputesLongerThanTheOthers) {
  EXPECT_EQ(LaggingRank(Status({10, 10, 10}), Status({14, 14, 16})),
            "rank 2 (host h2) is the slowest: it computed 50 % longer than the others on average, "
            "which waited for it");
  EXPECT_EQ(LaggingRank(Status({0, 0}), Status({8, 2}))->substr(0, 15), "rank 0 (host h0");
}

TEST(LaggingRank, ThereIsNoneIfRanksAreAlikeOrIdle) {
  EXPECT_FALSE(LaggingRank(Status({0, 0, 0}), Status({4, 5, 4.9})));
  EXPECT_FALSE(LaggingRank(Status({50, 10}), Status({55, 14.5})))
      << "what was before does not count";
  EXPECT_FALSE(LaggingRank(Status({0, 0}), Status({0.9, 0.1}))) << "too little to tell";
  EXPECT_FALSE(LaggingRank(Status({0}), Status({9}))) << "alone";
  EXPECT_FALSE(LaggingRank(Status({}), Status({9, 1})));
}

}  // namespace lagging_rank_test
}  // namespace scorecast::launcher

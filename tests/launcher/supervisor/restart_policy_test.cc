#include "launcher/supervisor/restart_policy.h"

#include <chrono>
#include <optional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scorecast::launcher {
namespace restart_policy_test {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;

/// A policy before a clock that the test moves.
class RestartPolicyTest : public ::testing::Test {
 protected:
  /// The job is ready, runs for `time` and fails.
  std::optional<milliseconds> FailsAfter(seconds time) {
    policy_.Ready(now_);
    now_ += time;
    return policy_.Failed(now_);
  }

  RestartPolicy policy_{RestartLimits{}};
  RestartPolicy::TimePoint now_{seconds(1000)};
};

TEST_F(RestartPolicyTest, AJobThatWasNeverReadyIsNotStartedAgain) {
  EXPECT_EQ(policy_.Failed(now_), std::nullopt);
  EXPECT_FALSE(policy_.was_ever_ready());
}

TEST_F(RestartPolicyTest, TheFirstRestartIsAtOnceAndFurtherDelaysDouble) {
  std::vector<milliseconds::rep> delays;
  for (auto delay = FailsAfter(seconds(1)); delay; delay = FailsAfter(seconds(1))) {
    delays.push_back(delay->count());
  }
  EXPECT_THAT(delays, ElementsAre(0, 500, 1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000));
  EXPECT_EQ(policy_.restarts(), 10);
}

TEST_F(RestartPolicyTest, RestartsThatAreNeverReadyCount) {
  EXPECT_EQ(FailsAfter(seconds(1)), milliseconds(0));
  for (int restart = 2; restart <= 10; ++restart) {
    now_ += seconds(100);  // Starting for long is no stable time.
    EXPECT_NE(policy_.Failed(now_), std::nullopt) << restart;
  }
  now_ += seconds(100);
  EXPECT_EQ(policy_.Failed(now_), std::nullopt);
  EXPECT_TRUE(policy_.was_ever_ready());
}

TEST_F(RestartPolicyTest, AStableMinuteForgetsRestarts) {
  for (int day = 0; day < 100; ++day) {
    EXPECT_EQ(FailsAfter(seconds(60)), milliseconds(0));
    EXPECT_EQ(FailsAfter(seconds(59)), milliseconds(500));
    EXPECT_EQ(policy_.restarts(), 2);
  }
}

TEST_F(RestartPolicyTest, WithoutRestartsTheFirstFaultIsTheLast) {
  RestartLimits none;
  none.max_restarts = 0;
  RestartPolicy policy(none);
  policy.Ready(now_);
  EXPECT_EQ(policy.Failed(now_ + seconds(1000)), std::nullopt);
}

}  // namespace restart_policy_test
}  // namespace scorecast::launcher

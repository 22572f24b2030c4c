#include "shard/runtime/progress.h"

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

namespace scorecast::shard {
namespace progress_test {

using proto::RankOperation;

TEST(Progress, CountsTheWorkOfARank) {
  Progress progress;
  progress.BecomeIdle();
  EXPECT_EQ(progress.Work().compute_seconds, 0);
  EXPECT_EQ(progress.Work().wait_seconds(), 0);

  progress.BeginPass(/*expected_seconds=*/0);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const auto now = Progress::Clock::now();
  progress.BeginWait(now);
  const double computed = progress.Work().compute_seconds;
  EXPECT_GE(computed, 0.005);
  progress.EndWait(now + std::chrono::milliseconds(250), RankOperation::kExchange, 100);
  progress.BeginWait(now + std::chrono::milliseconds(750));
  progress.EndWait(now + std::chrono::milliseconds(875), RankOperation::kShare, 7);
  progress.BeginWait(now + std::chrono::milliseconds(875));
  progress.EndWait(now + std::chrono::milliseconds(1000), RankOperation::kExchange, 100);
  const proto::RankWork work = progress.Work();
  EXPECT_NEAR(work.compute_seconds, computed + 0.5, 1e-9);
  EXPECT_NEAR(work.wait_seconds(), 0.5, 1e-9);
  EXPECT_NEAR(work.of(RankOperation::kExchange).seconds, 0.375, 1e-9);
  EXPECT_EQ(work.of(RankOperation::kExchange).bytes, 200U);
  EXPECT_EQ(work.of(RankOperation::kShare).bytes, 7U);
  EXPECT_EQ(work.of(RankOperation::kGather).bytes, 0U);
  EXPECT_EQ(progress.step(), 3U);
}

}  // namespace progress_test
}  // namespace scorecast::shard

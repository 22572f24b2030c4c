#include "proto/plan/forward_plan.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace scorecast::proto {
namespace forward_plan_test {

TEST(TokenBucket, IsTheSmallestThatHoldsTheRows) {
  EXPECT_EQ(TokenBucket(0), 32U);
  EXPECT_EQ(TokenBucket(1), 32U);
  EXPECT_EQ(TokenBucket(32), 32U);
  for (std::uint32_t bucket = 32; bucket <= 65536; bucket *= 2) {
    EXPECT_EQ(TokenBucket(bucket), bucket);
    EXPECT_EQ(TokenBucket(bucket + 1), 2 * bucket);
    EXPECT_EQ(TokenBucket(2 * bucket - 1), 2 * bucket);
  }
}

constexpr PlanLimits kLimits = {
    .max_rows = 5000, .max_reads = 300, .pass_kv_rows = 12000, .kept_kv_rows = 640};

TEST(LimitsOfBuckets, AreTheBucketsRowsAndReadsOrTheLimits) {
  const PlanLimits small = LimitsOfBuckets(kLimits, 128, 64);
  EXPECT_EQ(small.max_rows, 128);
  EXPECT_EQ(small.max_reads, 64);
  EXPECT_EQ(small.pass_kv_rows, 12000);
  EXPECT_EQ(small.kept_kv_rows, 640);
  const PlanLimits large = LimitsOfBuckets(kLimits, 8192, 512);
  EXPECT_EQ(large.max_rows, 5000);
  EXPECT_EQ(large.max_reads, 300);
}

TEST(TouchedLimits, AreTheTouchedBucketOrTheLimits) {
  const PlanLimits touched = TouchedLimits(kLimits);
  EXPECT_EQ(touched.max_rows, 1024);
  EXPECT_EQ(touched.max_reads, 300);
  EXPECT_EQ(touched.pass_kv_rows, 4096);
  EXPECT_EQ(touched.kept_kv_rows, 0);
  const PlanLimits small =
      TouchedLimits({.max_rows = 500, .max_reads = 2000, .pass_kv_rows = 1000, .kept_kv_rows = 64});
  EXPECT_EQ(small.max_rows, 500);
  EXPECT_EQ(small.max_reads, 1024);
  EXPECT_EQ(small.pass_kv_rows, 1000);
  EXPECT_EQ(small.kept_kv_rows, 0);
}

/// A plan of so many rows and reads, in the smallest buckets that hold them.
ForwardPlan PlanOf(std::size_t rows, std::size_t reads) {
  ForwardPlan plan;
  plan.tokens.resize(rows);
  plan.label_lists = {{}};
  plan.reads.resize(reads);
  plan.bucket = TokenBucket(static_cast<std::int64_t>(rows));
  plan.read_bucket = TokenBucket(static_cast<std::int64_t>(reads));
  return plan;
}

TEST(CheckBuckets, TakesPlansThatFitTheirBuckets) {
  for (const std::size_t rows : {1U, 32U, 33U, 4096U, 5000U}) {
    ForwardPlan plan = PlanOf(rows, 300);
    CheckBuckets(plan, kLimits);
    plan.bucket = 8192;
    CheckBuckets(plan, kLimits);
  }
  CheckBuckets(PlanOf(32, 0), kLimits);
}

TEST(CheckBucketsDeath, AnyOtherPlanIsABrokenInvariant) {
  const auto expect_death = [](std::size_t rows, std::size_t reads, std::uint32_t bucket,
                               std::uint32_t read_bucket, const char* message) {
    ForwardPlan plan = PlanOf(rows, reads);
    plan.bucket = bucket;
    plan.read_bucket = read_bucket;
    EXPECT_DEATH(CheckBuckets(plan, kLimits), message) << bucket << ", " << read_bucket;
  };
  expect_death(33, 1, 32, 32, "fit its buckets");
  expect_death(33, 33, 64, 32, "fit its buckets");
  expect_death(1, 1, 0, 32, "buckets are those of the engine");
  expect_death(1, 1, 32, 0, "buckets are those of the engine");
  expect_death(1, 1, 48, 32, "buckets are those of the engine");
  expect_death(1, 1, 16384, 32, "buckets are those of the engine");
  expect_death(1, 1, 32, 1024, "buckets are those of the engine");
  expect_death(5001, 1, 8192, 32, "keeps its limits");
  expect_death(1, 301, 32, 512, "keeps its limits");
}

TEST(CheckBucketsDeath, PartialLogitsBeyondTheirLimitAreABrokenInvariant) {
  ForwardPlan plan = PlanOf(5, 3);
  plan.label_lists = {{1, 2}};
  PlanLimits limits = kLimits;
  limits.max_logit_bytes = 3 * 2 * 4;
  CheckBuckets(plan, limits);
  --limits.max_logit_bytes;
  EXPECT_DEATH(CheckBuckets(plan, limits), "partial logits keep their limit");
}

/// A step of the rows 32 to 63 of a text of 100 rows.
ForwardPlan StepAt(std::int32_t first_row) {
  ForwardPlan plan = PlanOf(32, 0);
  plan.step = PlanStep{.begin = 1, .end = 2};
  plan.sequences = {{.segments = {{.compute_begin = 32,
                                   .stored = 32,
                                   .compute_end = 64,
                                   .kv = {.kept = true, .first = first_row},
                                   .later = 36}}}};
  return plan;
}

TEST(CheckBucketsDeath, AStepsTextLiesAnywhereInTheBuffersForTexts) {
  PlanLimits limits = kLimits;
  limits.longest_text = 100;
  limits.text_rows = 256;
  limits.layers = 2;
  CheckBuckets(StepAt(0), limits);
  CheckBuckets(StepAt(128), limits);
  EXPECT_DEATH(CheckBuckets(StepAt(192), limits), "a place in the buffers for texts");
  EXPECT_DEATH(CheckBuckets(StepAt(-64), limits), "a place in the buffers for texts");
  EXPECT_DEATH(CheckBuckets(StepAt(32), limits), "a place in the buffers for texts");
  EXPECT_DEATH(CheckBuckets(StepAt(0x7fffffc0), limits), "a place in the buffers for texts");
  ForwardPlan local = StepAt(0);
  local.sequences[0].segments[0].kv.kept = false;
  EXPECT_DEATH(CheckBuckets(local, limits), "a place in the buffers for texts");
  limits.longest_text = 99;
  EXPECT_DEATH(CheckBuckets(StepAt(0), limits), "a step computes rows of a text");
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

}  // namespace forward_plan_test
}  // namespace scorecast::proto

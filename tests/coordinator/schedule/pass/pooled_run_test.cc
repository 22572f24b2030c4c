// Texts whose rows are pooled: what each pass reads of them, and what it gets from the one before.

#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/schedule/pages/block_cache.h"
#include "coordinator/schedule/pages/capacity.h"
#include "coordinator/schedule/pass/pass_builder.h"
#include "coordinator/schedule/pass/sequence_run.h"
#include "coordinator/schedule/pass/sequence_work.h"

namespace scorecast::coordinator {
namespace pooled_run_test {

using proto::ForwardPlan;
using proto::PackedSequence;
using proto::PlanLimits;
using proto::PlanRead;
using proto::PooledRows;
using proto::RowLogits;
using ::testing::ElementsAre;
using Outcome = SequenceRun::Outcome;

constexpr PlanLimits kLimits{.max_rows = 32,
                             .max_reads = 40,
                             .pass_kv_rows = 96,
                             .kept_kv_rows = 8 * 64,
                             .vocabulary = 4,
                             .pooled_rows = PooledRows::kAll,
                             .pooled_values = 2,
                             .row_values = 2};

PackedSequence Text(std::int32_t rows, std::int32_t first_row) {
  PackedSequence text;
  text.tokens.resize(static_cast<std::size_t>(rows));
  std::iota(text.tokens.begin(), text.tokens.end(), 100);
  text.segments = {{proto::SegmentKind::kPrefix, rows, 0}};
  text.reads = {{.row = rows - 1, .first_row = first_row}};
  return text;
}

/// Sums the tokens of the rows that a read pools, on what is pooled already.
std::vector<RowLogits> Compute(const ForwardPlan& plan) {
  std::vector<RowLogits> results;
  for (const PlanRead& read : plan.reads) {
    std::vector<float> sum = read.pooled.empty() ? std::vector<float>(2) : read.pooled;
    for (std::int32_t row = read.first_row; row <= read.row; ++row) {
      sum[0] += static_cast<float>(plan.tokens.at(static_cast<std::size_t>(row)));
      sum[1] += 1;
    }
    EXPECT_EQ(read.pooled.empty() ? 0 : read.pooled[1], static_cast<float>(read.rows_before));
    results.push_back({.embedding = std::move(sum)});
  }
  return results;
}

/// The passes of a text, and its result.
struct Computed {
  std::vector<ForwardPlan> plans;
  std::vector<float> result;
};

Computed ComputeText(const PackedSequence& text, const PlanLimits& limits, BlockCache& cache) {
  std::vector<RowLogits> results;
  SequenceRun run(text, results, {}, "", cache, limits);
  Computed computed;
  while (!run.is_done()) {
    PassBuilder pass(limits);
    EXPECT_EQ(run.AddPart(pass, limits.max_rows), Outcome::kAdded);
    computed.plans.push_back(std::move(pass).Take());
    proto::CheckBuckets(computed.plans.back(), limits);
    std::vector<RowLogits> rows = Compute(computed.plans.back());
    run.Take(rows);
    cache.PassDone();
  }
  computed.result = results.at(0).embedding;
  return computed;
}

Computed ComputeText(const PackedSequence& text, const PlanLimits& limits = kLimits) {
  BlockCache cache(limits.kept_kv_rows / proto::kKvPageRows, 0);
  return ComputeText(text, limits, cache);
}

std::vector<float> SumOf(const PackedSequence& text) {
  const std::int32_t first = text.reads[0].first_row;
  const auto begin = text.tokens.begin() + first;
  return {static_cast<float>(std::accumulate(begin, text.tokens.end(), 0)),
          static_cast<float>(text.tokens.end() - begin)};
}

TEST(PooledRun, OfAShortTextIsOneRead) {
  const PackedSequence text = Text(20, 3);
  const Computed computed = ComputeText(text);
  ASSERT_EQ(computed.plans.size(), 1U);
  EXPECT_THAT(computed.plans[0].reads, ElementsAre(PlanRead{.row = 19, .first_row = 3}));
  EXPECT_EQ(computed.plans[0].read_bucket, 32U);
  EXPECT_EQ(computed.result, SumOf(text));
}

TEST(PooledRun, GoesOnFromPassToPass) {
  for (const std::int32_t first_row : {0, 1, 31, 32, 40, 63, 64, 99}) {
    const PackedSequence text = Text(100, first_row);
    const Computed computed = ComputeText(text);
    EXPECT_EQ(computed.plans.size(), 4U);
    EXPECT_EQ(computed.result, SumOf(text)) << first_row;
    for (std::size_t i = 0; i < computed.plans.size(); ++i) {
      for (const PlanRead& read : computed.plans[i].reads) {
        EXPECT_EQ(read.goes_on, i + 1 < computed.plans.size());
      }
    }
  }
}

TEST(PooledRun, IsCutWhereAPassHasNoRoomForReads) {
  PlanLimits limits = kLimits;
  limits.max_reads = 7;
  const PackedSequence text = Text(30, 2);
  const Computed computed = ComputeText(text, limits);
  EXPECT_EQ(computed.plans.size(), 4U);
  EXPECT_EQ(computed.result, SumOf(text));
}

TEST(PooledRun, ComputesRowsAgainThatAreCached) {
  const std::int32_t pages = kLimits.kept_kv_rows / proto::kKvPageRows;
  PlanLimits limits = kLimits;
  limits.max_rows = 200;
  limits.max_reads = 200;
  limits.pass_kv_rows = 400;
  BlockCache cache(pages, pages);
  for (const std::int32_t first_row : {0, 70, 64, 128, 149}) {
    const PackedSequence text = Text(150, first_row);
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(ComputeText(text, limits, cache).result, SumOf(text)) << first_row;
    }
  }
}

TEST(PooledRun, NeedsOnlyTheRowsOfItsPooling) {
  PackedSequence first = Text(100, 5);
  first.NarrowReads(PooledRows::kFirst);
  EXPECT_EQ(ComputeText(first).result, (std::vector<float>{105, 1}));
  PackedSequence last = Text(100, 5);
  last.NarrowReads(PooledRows::kLast);
  const Computed computed = ComputeText(last);
  EXPECT_EQ(computed.result, (std::vector<float>{199, 1}));
  EXPECT_TRUE(computed.plans[0].reads.empty());
  EXPECT_FALSE(computed.plans.back().reads.at(0).goes_on);
}

TEST(PooledRun, CostsWhatItsRowsDo) {
  const PackedSequence text = Text(20, 3);
  EXPECT_EQ(CostOf(text, kLimits).reads, 17);
  EXPECT_EQ(CostOf(text, kLimits).logit_bytes, 4 * 4);  // The result is longer than the row.
  EXPECT_EQ(WorkOf(text, kLimits.reach).reads, 17);
  BlockCache cache(8, 0);
  std::vector<RowLogits> results;
  SequenceRun run(text, results, {}, "", cache, kLimits);
  EXPECT_EQ(run.WorkLeft(), WorkOf(text, kLimits.reach));
  PassBuilder pass(kLimits);
  ASSERT_EQ(run.AddWhole(pass), Outcome::kAdded);
  EXPECT_EQ(pass.work(), WorkOf(text, kLimits.reach));
  EXPECT_EQ(pass.reads(), kLimits.max_reads - 17);
  EXPECT_EQ(pass.logit_bytes(), kLimits.max_logit_bytes - 4 * 4);
}

TEST(PooledRun, ReadsRawRowsOneByOne) {
  PackedSequence text = Text(40, 0);
  text.reads.clear();
  for (std::int32_t row = 0; row < 40; ++row) {
    text.reads.push_back({.row = row, .first_row = row, .raw = true});
  }
  BlockCache cache(8, 0);
  std::vector<RowLogits> results;
  SequenceRun run(text, results, {}, "", cache, kLimits);
  while (!run.is_done()) {
    PassBuilder pass(kLimits);
    ASSERT_EQ(run.AddPart(pass, kLimits.max_rows), Outcome::kAdded);
    const ForwardPlan plan = std::move(pass).Take();
    for (const PlanRead& read : plan.reads) {
      EXPECT_TRUE(read.raw && !read.goes_on && read.first_row == read.row);
    }
    std::vector<RowLogits> rows = Compute(plan);
    run.Take(rows);
  }
  for (std::size_t row = 0; row < 40; ++row) {
    EXPECT_EQ(results[row].embedding[0], static_cast<float>(100 + row));
  }
}

}  // namespace pooled_run_test
}  // namespace scorecast::coordinator

#include "coordinator/schedule/pass/text_steps.h"

#include <algorithm>
#include <limits>
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
namespace text_steps_test {

using proto::ForwardPlan;
using proto::PackedSequence;
using proto::PlanLimits;

constexpr PlanLimits kLimits{.max_rows = 64,
                             .max_reads = 100,
                             .pass_kv_rows = 128,
                             .longest_text = 500,
                             .text_rows = 640,
                             .vocabulary = 2,
                             .pooled_rows = proto::PooledRows::kAll,
                             .pooled_values = 2,
                             .row_values = 2,
                             .layers = 6,
                             .reach = {.both_sides = true}};
constexpr PassRates kRates{.row = 1e-3};

/// A text of which the rows from `first_row` to `last_row` are pooled.
PackedSequence Text(std::int32_t rows, std::int32_t first_row, std::int32_t last_row) {
  PackedSequence text;
  text.tokens.resize(static_cast<std::size_t>(rows));
  std::iota(text.tokens.begin(), text.tokens.end(), 100);
  text.segments = {{proto::SegmentKind::kPrefix, rows, 2}};
  text.reads = {{.row = last_row, .first_row = first_row}};
  return text;
}

PackedSequence Text(std::int32_t rows) { return Text(rows, 0, rows - 1); }

TextCut CutOf(const PackedSequence& text, double seconds, const PlanLimits& limits = kLimits) {
  return CutText(text, WorkOf(text, limits.reach), limits, {kRates, seconds});
}

TEST(CutText, BetweenLayersIfAStageIsShort) {
  // 60 rows take 60 ms, and a stage of them 10 ms. There are seven stages.
  EXPECT_EQ(CutOf(Text(60), 0.035).rows, 60);
  EXPECT_EQ(CutOf(Text(60), 0.035).stages, 3);
  EXPECT_EQ(CutOf(Text(60), 0.045).stages, 4);
  EXPECT_EQ(CutOf(Text(60), 0.055).stages, 4) << "two steps, of which none is longer than needed";
  EXPECT_EQ(CutOf(Text(60), 0.0101).stages, 1);
}

TEST(CutText, BetweenRowsIfAStageIsLong) {
  const TextCut in_time = CutOf(Text(400), 0.01);
  EXPECT_EQ(in_time.rows, 58) << "7 steps of up to 60 rows";
  EXPECT_EQ(in_time.stages, 1);
  EXPECT_EQ(CutOf(Text(400), 1e-4).rows, 31) << "13 steps of up to 32 rows";
  EXPECT_EQ(CutOf(Text(400), std::numeric_limits<double>::infinity()).rows, 58)
      << "7 steps of up to 64 rows";
}

TEST(CutText, WhereReadsFill) {
  PlanLimits limits = kLimits;
  limits.max_logit_bytes = 10 * 2 * sizeof(float);
  PackedSequence text = Text(60, 0, 0);
  text.reads.clear();
  for (std::int32_t row = 0; row < 60; ++row) {
    text.reads.push_back({.row = row, .first_row = row, .raw = true});
  }
  EXPECT_EQ(CutOf(text, 1, limits).rows, 10);
  limits.max_logit_bytes = proto::kMaxLogitBytes;
  limits.max_reads = 20;
  EXPECT_EQ(CutOf(text, 1, limits).rows, 20);
}

/// Computes a text in steps, and checks each against the stages before it. Returns its plans.
std::vector<ForwardPlan> Compute(const PackedSequence& text, const TextCut& cut) {
  BlockCache cache(0, 0);
  std::vector<proto::RowLogits> results;
  SequenceRun run(text, results, {}, "", cache, kLimits, cut);
  std::vector<ForwardPlan> plans;
  std::vector<std::int32_t> done(static_cast<std::size_t>(text.rows()));  // Stages of each row.
  float sum = 0;  // What is pooled: the tokens' sum.
  while (!run.is_done()) {
    PassBuilder pass(kLimits);
    const PassWork left = run.WorkLeft();
    run.AddStep(pass, 128);
    EXPECT_TRUE(pass.full());
    EXPECT_GT(pass.work().rows, 0);
    EXPECT_LE(pass.work().keys, left.keys + 1);
    EXPECT_LE(run.WorkLeft().keys, left.keys);
    const ForwardPlan plan = std::move(pass).Take();
    proto::CheckBuckets(plan, kLimits);
    const proto::PlanSegment& segment = plan.sequences.at(0).segments.at(0);
    EXPECT_EQ(segment.keys(), text.rows());
    EXPECT_EQ(segment.first_position, 2);
    EXPECT_EQ(segment.kv, (proto::KvPlace{.kept = true, .first = 128}));
    EXPECT_EQ(plan.tokens.at(0), text.tokens.at(static_cast<std::size_t>(segment.compute_begin)));
    for (std::int32_t stage = plan.step->begin; stage < plan.step->end; ++stage) {
      EXPECT_TRUE(stage == 0 || std::ranges::all_of(done, [&](auto n) { return n >= stage; }));
      for (std::int32_t row = segment.compute_begin; row < segment.compute_end; ++row) {
        EXPECT_EQ(done[static_cast<std::size_t>(row)], stage);
        ++done[static_cast<std::size_t>(row)];
      }
    }
    // Ranks own the same rows in each stage, if the steps have the same rows.
    EXPECT_EQ(segment.compute_begin % cut.rows, 0);
    EXPECT_EQ(segment.compute_end,
              std::min<std::int64_t>(segment.compute_begin + cut.rows, text.rows()));
    std::vector<proto::RowLogits> rows;
    for (const proto::PlanRead& read : plan.reads) {
      sum = read.pooled.empty() ? 0 : read.pooled[0];
      for (std::int32_t row = read.first_row; row <= read.row; ++row) {
        sum += static_cast<float>(plan.tokens.at(static_cast<std::size_t>(row)));
      }
      rows.push_back({.embedding = {sum, 0}});
    }
    run.Take(rows);
    plans.push_back(plan);
  }
  const proto::RowRead& read = text.reads.at(0);
  EXPECT_EQ(sum, static_cast<float>(std::accumulate(text.tokens.begin() + read.first_row,
                                                    text.tokens.begin() + read.row + 1, 0)));
  EXPECT_EQ(results.at(0).embedding.at(0), sum);
  return plans;
}

TEST(TextSteps, EveryRowPassesEveryStage) {
  for (const std::int32_t rows : {1, 31, 32, 33, 64, 300}) {
    for (const std::int32_t at_once : {1, 16, 60}) {
      const PackedSequence text = Text(rows);
      const auto plans = Compute(text, {.rows = std::min(at_once, rows), .stages = 1});
      const auto steps = static_cast<std::size_t>((rows + at_once - 1) / at_once);
      EXPECT_EQ(plans.size(), 7 * steps);
    }
  }
}

TEST(TextSteps, SeveralStagesAtOnce) {
  EXPECT_EQ(Compute(Text(60), {.rows = 60, .stages = 3}).size(), 3U);
  EXPECT_EQ(Compute(Text(60), {.rows = 60, .stages = 7}).size(), 1U);
}

TEST(TextSteps, TheLastStageHasOnlyRowsThatAreRead) {
  EXPECT_EQ(Compute(Text(100, 0, 0), {.rows = 10, .stages = 1}).size(), 6U * 10 + 1);
  EXPECT_EQ(Compute(Text(100, 99, 99), {.rows = 10, .stages = 1}).size(), 6U * 10 + 1);
  EXPECT_EQ(Compute(Text(100, 25, 44), {.rows = 10, .stages = 1}).size(), 6U * 10 + 3);
}

TEST(TextSteps, TheirWorkIsThatOfTheText) {
  const PackedSequence text = Text(400);
  BlockCache cache(0, 0);
  std::vector<proto::RowLogits> results;
  SequenceRun run(text, results, {}, "", cache, kLimits, TextCut{.rows = 50, .stages = 1});
  PassWork all;
  while (run.has_rows_left()) {
    PassBuilder pass(kLimits);
    run.AddStep(pass, 0);
    all += pass.work();
    std::vector<proto::RowLogits> rows(run.reads_in_pass(), {.embedding = {0, 0}});
    run.Take(rows);
  }
  const PassWork whole = WorkOf(text, kLimits.reach);
  EXPECT_NEAR(static_cast<double>(all.rows), static_cast<double>(whole.rows), 30);  // Rounded.
  EXPECT_NEAR(static_cast<double>(all.keys), static_cast<double>(whole.keys), 60);
  EXPECT_EQ(all.reads, whole.reads);
}

TEST(CapacityOfTexts, ThePlaceForTextsBoundsThem) {
  EXPECT_EQ(CapacityFault(Text(500), kLimits), std::nullopt);
  const auto fault = CapacityFault(Text(501), kLimits);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->code, 400);
  EXPECT_THAT(fault->message, ::testing::HasSubstr("501 tokens > 500"));
  PlanLimits without = kLimits;
  without.longest_text = 0;
  EXPECT_EQ(CapacityFault(Text(64), without), std::nullopt);
  EXPECT_TRUE(CapacityFault(Text(65), without));
}

}  // namespace text_steps_test
}  // namespace scorecast::coordinator

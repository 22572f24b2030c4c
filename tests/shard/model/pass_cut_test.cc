#include "shard/model/pass_cut.h"

#include <cstdint>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "proto/plan/forward_plan.h"
#include "shard/attention/row_map.h"

namespace scorecast::shard {
namespace pass_cut_test {

using proto::ForwardPlan;
using proto::KvPlace;
using proto::PlanSegment;
using proto::SegmentKind;

/// A segment whose rows are all computed and stored, from the place `first` on.
PlanSegment Segment(SegmentKind kind, std::int32_t rows, std::int32_t first, bool kept = false) {
  return {.kind = kind, .compute_end = rows, .kv = {.kept = kept, .first = first}};
}

/// The same with rows [0, stored) stored by others.
PlanSegment Stored(PlanSegment segment, std::int32_t compute_begin, std::int32_t stored) {
  segment.compute_begin = compute_begin;
  segment.stored = stored;
  return segment;
}

ForwardPlan PlanOf(const std::vector<std::vector<PlanSegment>>& sequences) {
  ForwardPlan plan;
  std::int32_t rows = 0;
  for (const std::vector<PlanSegment>& segments : sequences) {
    plan.sequences.push_back({.segments = segments});
    for (const PlanSegment& segment : segments) {
      rows += segment.computed();
    }
  }
  plan.tokens.resize(static_cast<std::size_t>(rows));
  return plan;
}

std::optional<std::int64_t> CutOf(const ForwardPlan& plan, bool bidirectional = false) {
  RowMap rows(static_cast<std::int64_t>(plan.tokens.size()));
  rows.Assign(plan);
  return CutOfPass(plan, rows, bidirectional);
}

/// Texts of these lengths, each a sequence of its own.
ForwardPlan Texts(const std::vector<std::int32_t>& lengths) {
  std::vector<std::vector<PlanSegment>> sequences;
  std::int32_t first = 0;
  for (const std::int32_t length : lengths) {
    sequences.push_back({Segment(SegmentKind::kPrefix, length, first)});
    first += proto::KvRows(length);
  }
  return PlanOf(sequences);
}

TEST(CutOfPass, IsNearTheMiddle) {
  // Inside a segment, whole granules of keys.
  EXPECT_EQ(CutOf(Texts({400})), 192);
  EXPECT_EQ(CutOf(Texts({128})), 64);
  EXPECT_EQ(CutOf(Texts({129})), 64);
  // Where a sequence begins, at any row. Inside the second, granules count from its own first row.
  EXPECT_EQ(CutOf(Texts({101, 103})), 101);
  EXPECT_EQ(CutOf(Texts({13, 387})), 13 + 192);
  // Where a segment begins.
  std::vector<PlanSegment> items = {Segment(SegmentKind::kPrefix, 50, 0)};
  for (std::int32_t item = 0; item < 10; ++item) {
    items.push_back(Segment(SegmentKind::kBlock, 15, 64 + 16 * item));
  }
  EXPECT_EQ(CutOf(PlanOf({items})), 95);
}

TEST(CutOfPass, IsNotOneOfFewRows) {
  EXPECT_EQ(CutOf(Texts({127})), std::nullopt);
  EXPECT_EQ(CutOf(Texts({1})), std::nullopt);
  EXPECT_EQ(CutOf(Texts({64, 63})), std::nullopt);
}

// Rows that follow each other in a segment, and begin inside a granule.
TEST(CutOfPass, CountsGranulesFromTheSegmentsFirstRow) {
  const PlanSegment later = Stored(Segment(SegmentKind::kPrefix, 205, 0), 5, 5);
  EXPECT_EQ(CutOf(PlanOf({{later}})), 112 - 5);  // 200 rows.
}

// Rows of a bidirectional text see those behind them.
TEST(CutOfPass, IsBetweenBidirectionalTexts) {
  EXPECT_EQ(CutOf(Texts({400}), true), std::nullopt);
  EXPECT_EQ(CutOf(Texts({30, 77, 40, 55}), true), 107);
  // Near the ends only.
  EXPECT_EQ(CutOf(Texts({20, 300, 30}), true), std::nullopt);
}

TEST(CutOfPass, IsNotOneOfAStepOfAText) {
  ForwardPlan plan = Texts({200, 200});
  EXPECT_EQ(CutOf(plan), 200);
  plan.step = proto::PlanStep{0, 1};
  EXPECT_EQ(CutOf(plan), std::nullopt);
}

// The first sequence sees a page that the second computes. The other way round, the pass is cut.
TEST(CutOfPass, IsNotBeforeRowsThatEarlierOnesSee) {
  const PlanSegment page = Segment(SegmentKind::kPrefix, 64, 640, /*kept=*/true);
  const PlanSegment seen = Stored(page, 64, 64);
  const PlanSegment own = Segment(SegmentKind::kBlock, 64, 128, /*kept=*/true);
  EXPECT_EQ(CutOf(PlanOf({{seen, own}, {page}})), std::nullopt);
  EXPECT_EQ(CutOf(PlanOf({{page}, {seen, own}})), 64);
  // A page of the same number that only this pass needs is another one.
  PlanSegment other = page;
  other.kv.kept = false;
  EXPECT_EQ(CutOf(PlanOf({{seen, own}, {other}})), 64);
  // Rows that are computed for a read alone, and whose keys another sequence stores.
  EXPECT_EQ(CutOf(PlanOf({{Stored(page, 0, 64)}, {page}})), std::nullopt);
  EXPECT_EQ(CutOf(PlanOf({{page}, {Stored(page, 0, 64)}})), 64);
}

}  // namespace pass_cut_test
}  // namespace scorecast::shard

#include "coordinator/schedule/pass_builder.h"

#include <numeric>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scorecast::coordinator {
namespace {

using proto::ForwardPlan;
using proto::KvPlace;
using proto::PackedSequence;
using proto::PlanLimits;
using proto::PlanRead;
using proto::PlanSegment;
using proto::SegmentKind;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr PlanLimits kLimits{
    .max_rows = 32, .max_reads = 4, .pass_kv_rows = 96, .kept_kv_rows = 128};

/// Tokens 0, 1, 2, …; items that read their last rows.
PackedSequence Sequence(int prefix, const std::vector<int>& items) {
  std::vector<std::vector<proto::TokenId>> tokens;
  int next = prefix;
  for (const int length : items) {
    auto& item = tokens.emplace_back(static_cast<std::size_t>(length));
    std::iota(item.begin(), item.end(), next);
    next += length;
  }
  std::vector<proto::TokenId> query(static_cast<std::size_t>(prefix));
  std::iota(query.begin(), query.end(), 0);
  PackedSequence sequence = proto::PackItems(query, tokens);
  sequence.label_lists = {{1, 2}};
  for (const auto row : proto::LastRowOfEachItem(prefix, tokens)) {
    sequence.reads.push_back({row, 0, true, 0});
  }
  return sequence;
}

TEST(PassBuilder, AddsWholeSequencesWithPlacesInGranules) {
  PassBuilder pass(kLimits);
  const PackedSequence first = Sequence(5, {17, 1});
  const PackedSequence second = Sequence(3, {2});
  ASSERT_TRUE(pass.AddWhole(first, CostOf(first)));
  // 16 + 32 + 16 places are taken, and 16 + 16 left.
  ASSERT_TRUE(pass.AddWhole(second, CostOf(second)));
  const ForwardPlan plan = std::move(pass).Take();
  ASSERT_EQ(plan.sequences.size(), 2u);
  EXPECT_THAT(plan.sequences[0].segments,
              ElementsAre(PlanSegment{SegmentKind::kPrefix, 0, 0, 5, KvPlace{false, 0}},
                          PlanSegment{SegmentKind::kBlock, 5, 0, 17, KvPlace{false, 16}},
                          PlanSegment{SegmentKind::kBlock, 5, 0, 1, KvPlace{false, 48}}));
  EXPECT_THAT(plan.sequences[1].segments,
              ElementsAre(PlanSegment{SegmentKind::kPrefix, 0, 0, 3, KvPlace{false, 64}},
                          PlanSegment{SegmentKind::kBlock, 3, 0, 2, KvPlace{false, 80}}));
  EXPECT_THAT(plan.reads, ElementsAre(PlanRead{21, 0, true, 0}, PlanRead{22, 0, true, 0},
                                      PlanRead{27, 0, true, 0}));
  EXPECT_THAT(plan.label_lists, ElementsAre(ElementsAre(1, 2))) << "one list, broadcast once";
  EXPECT_EQ(plan.tokens.size(), 28u);
  EXPECT_EQ(plan.bucket, 32u);
}

TEST(PassBuilder, RefusesWhatDoesNotFitTheRest) {
  PassBuilder pass(kLimits);
  const PackedSequence sequence = Sequence(5, {1, 1});
  ASSERT_TRUE(pass.AddWhole(sequence, CostOf(sequence)));
  const PackedSequence rows = Sequence(26, {});
  EXPECT_FALSE(pass.AddWhole(rows, CostOf(rows)));
  const PackedSequence reads = Sequence(1, {0, 0, 0});
  EXPECT_FALSE(pass.AddWhole(reads, CostOf(reads)));
  const PackedSequence places = Sequence(1, {1, 1, 1});
  EXPECT_FALSE(pass.AddWhole(places, CostOf(places)));
  const PackedSequence fits = Sequence(25, {});
  EXPECT_TRUE(pass.AddWhole(fits, CostOf(fits)));
  EXPECT_TRUE(pass.full());
}

TEST(PassBuilder, CutsASequenceAtThePassesEndAndKeepsIt) {
  const PackedSequence sequence = Sequence(20, {20, 6});
  {
    PassBuilder pass(kLimits);
    const auto part = pass.AddPart(sequence, 0);
    EXPECT_EQ(part.end, 32);
    EXPECT_THAT(part.reads, IsEmpty());
    EXPECT_THAT(std::move(pass).Take().sequences[0].segments,
                ElementsAre(PlanSegment{SegmentKind::kPrefix, 0, 0, 20, KvPlace{true, 0}},
                            PlanSegment{SegmentKind::kBlock, 20, 0, 12, KvPlace{true, 32}}));
  }
  {
    PassBuilder pass(kLimits);
    const auto part = pass.AddPart(sequence, 32);
    EXPECT_EQ(part.end, 46);
    EXPECT_THAT(part.reads, ElementsAre(0, 1));
    const ForwardPlan plan = std::move(pass).Take();
    EXPECT_THAT(plan.sequences[0].segments,
                ElementsAre(PlanSegment{SegmentKind::kPrefix, 0, 20, 20, KvPlace{true, 0}},
                            PlanSegment{SegmentKind::kBlock, 20, 12, 20, KvPlace{true, 32}},
                            PlanSegment{SegmentKind::kBlock, 20, 0, 6, KvPlace{true, 64}}));
    EXPECT_THAT(plan.reads, ElementsAre(PlanRead{7, 0, true, 0}, PlanRead{13, 0, true, 0}));
    EXPECT_EQ(plan.tokens.front(), 32);
  }
}

TEST(PassBuilder, LeavesOutWhatNoComputedRowSees) {
  const PackedSequence sequence = Sequence(20, {12, 6});
  PassBuilder pass(kLimits);
  EXPECT_EQ(pass.AddPart(sequence, 32).end, 38);
  EXPECT_THAT(std::move(pass).Take().sequences[0].segments,
              ElementsAre(PlanSegment{SegmentKind::kPrefix, 0, 20, 20, KvPlace{true, 0}},
                          PlanSegment{SegmentKind::kBlock, 20, 0, 6, KvPlace{true, 48}}));
}

TEST(PassBuilder, CutsBeforeTheRowWhoseReadsDoNotFit) {
  const PackedSequence sequence = Sequence(3, {1, 1, 1, 1, 1, 1});
  PassBuilder pass(kLimits);
  const auto part = pass.AddPart(sequence, 0);
  EXPECT_EQ(part.end, 7);
  EXPECT_THAT(part.reads, ElementsAre(0, 1, 2, 3));
}

TEST(Capacity, CountsKeptPlacesWhereOnePassIsNotEnough) {
  EXPECT_FALSE(CapacityFault(Sequence(32, {}), kLimits)) << "one pass";
  EXPECT_FALSE(CapacityFault(Sequence(128, {}), kLimits)) << "several";
  const auto fault = CapacityFault(Sequence(129, {}), kLimits);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->code, 400);
  EXPECT_EQ(fault->reason, "capacity");
  EXPECT_THAT(fault->message, ::testing::HasSubstr("129 tokens need K/V for 144 rows > 128"));
}

TEST(Capacity, ReadsOfOneRowStayInOnePass) {
  EXPECT_FALSE(CapacityFault(Sequence(3, {0, 0, 0, 0}), kLimits));
  EXPECT_TRUE(CapacityFault(Sequence(3, {0, 0, 0, 0, 0}), kLimits));
  EXPECT_FALSE(CapacityFault(Sequence(3, {1, 1, 1, 1, 1}), kLimits));
}

}  // namespace
}  // namespace scorecast::coordinator

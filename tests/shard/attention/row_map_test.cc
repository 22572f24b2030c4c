#include "shard/attention/row_map.h"

#include <cstdint>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "tests/shard/random_floats.h"

namespace scorecast::shard {
namespace row_map_test {

using proto::SegmentKind;
using testing::RandomInt;

proto::PlanSegment Computed(SegmentKind kind, std::int32_t first_position, std::int32_t begin,
                            std::int32_t end) {
  return {kind, false, first_position, begin, begin, end, {}};
}

TEST(RowMap, WorkedExample) {
  proto::ForwardPlan plan;
  // First a prefix with two stored rows, and a block; then a sequence whose prefix has nothing to
  // compute.
  plan.sequences = {
      {{Computed(SegmentKind::kPrefix, 0, 2, 5), Computed(SegmentKind::kBlock, 5, 0, 2)}, {}},
      {{Computed(SegmentKind::kPrefix, 0, 7, 7), Computed(SegmentKind::kSuffix, 20, 1, 2)}, {}}};
  plan.tokens.resize(6);
  RowMap map(6);
  map.Assign(plan);
  struct Expected {
    std::int32_t sequence, segment, row_in_segment, position;
  };
  const std::vector<Expected> expected = {{0, 0, 2, 2}, {0, 0, 3, 3}, {0, 0, 4, 4},
                                          {0, 1, 0, 5}, {0, 1, 1, 6}, {1, 1, 1, 21}};
  ASSERT_EQ(map.rows().size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(map.rows()[i].sequence, expected[i].sequence) << i;
    EXPECT_EQ(map.rows()[i].segment, expected[i].segment) << i;
    EXPECT_EQ(map.rows()[i].row_in_segment, expected[i].row_in_segment) << i;
    EXPECT_EQ(map.rows()[i].position, expected[i].position) << i;
  }
  ASSERT_EQ(map.tiles().size(), 2U);
  EXPECT_EQ(map.tiles()[0].first_row, 0);
  EXPECT_EQ(map.tiles()[0].rows, 5);
  EXPECT_EQ(map.tiles()[1].first_row, 5);
  EXPECT_EQ(map.tiles()[1].rows, 1);
}

TEST(RowMap, RowsKnowWhereTheirChainBegins) {
  proto::ForwardPlan plan;
  for (int q = 0; q < 2; ++q) {
    std::vector<proto::PlanSegment>& segments = plan.sequences.emplace_back().segments;
    // The second segment has nothing to compute, but is part of the chain all the same.
    for (const std::int32_t rows : {1, 0, 1, 1, 1}) {
      segments.push_back(Computed(SegmentKind::kBlock, 0, 0, rows));
      segments.back().continues =
          segments.size() == 2 || segments.size() == 3 || segments.size() == 5;
    }
  }
  plan.tokens.resize(8);
  RowMap map(8);
  map.Assign(plan);
  RowMap some(8);
  some.Select(map, std::vector<std::int32_t>{1, 2, 7});
  std::vector<std::int32_t> begins;
  for (const RowPlace& row : map.rows()) {
    begins.push_back(row.chain_begin);
  }
  EXPECT_EQ(begins, (std::vector<std::int32_t>{0, 0, 3, 3, 0, 0, 3, 3}));
  EXPECT_EQ(some.rows()[0].chain_begin, 0);
  EXPECT_EQ(some.rows()[1].chain_begin, 3);
  EXPECT_EQ(some.rows()[2].chain_begin, 3);
}

/// Expects that the tiles cover every row once, in order, that each lies in one sequence, and that
/// none is too large.
void ExpectTilesCover(const RowMap& map) {
  std::int32_t next = 0;
  for (const RowTile& tile : map.tiles()) {
    ASSERT_EQ(tile.first_row, next);
    ASSERT_GE(tile.rows, 1);
    ASSERT_LE(tile.rows, RowMap::kTileRowLimit);
    next += tile.rows;
    const auto of_tile = map.rows().subspan(static_cast<std::size_t>(tile.first_row),
                                            static_cast<std::size_t>(tile.rows));
    for (const RowPlace& row : of_tile) {
      ASSERT_EQ(row.sequence, of_tile.front().sequence);
    }
  }
  ASSERT_EQ(next, static_cast<std::int32_t>(map.rows().size()));
}

// One map is reused for one plan after another.
TEST(RowMap, TilesCoverEveryRowOnce) {
  std::mt19937 random(1);
  RowMap map(2000);
  for (int round = 0; round < 200; ++round) {
    proto::ForwardPlan plan;
    std::int32_t rows = 0;
    for (int q = RandomInt(random, 0, 6); q > 0; --q) {
      proto::PlanSequence& sequence = plan.sequences.emplace_back();
      for (int s = RandomInt(random, 1, 5); s > 0; --s) {
        const std::int32_t begin = RandomInt(random, 0, 40);
        const std::int32_t count = RandomInt(random, 0, 40);
        sequence.segments.push_back(Computed(SegmentKind::kPrefix, 0, begin, begin + count));
        rows += count;
      }
    }
    plan.tokens.resize(static_cast<std::size_t>(rows));
    map.Assign(plan);
    ASSERT_EQ(map.rows().size(), plan.tokens.size());
    ExpectTilesCover(map);
  }
}

TEST(RowMap, SelectsRowsWithTheirPlaces) {
  proto::ForwardPlan plan;
  for (int q = 0; q < 3; ++q) {
    plan.sequences.push_back(
        {{Computed(SegmentKind::kPrefix, 0, 3, 40), Computed(SegmentKind::kBlock, 40, 0, 20)}, {}});
  }
  plan.tokens.resize(3 * 57);
  RowMap all(171);
  all.Assign(plan);
  RowMap some(171);
  std::mt19937 random(2);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::int32_t> rows;
    for (std::int32_t row = 0; row < 171; ++row) {
      if (RandomInt(random, 0, round) == 0) {
        rows.push_back(row);
      }
    }
    some.Select(all, rows);
    ASSERT_EQ(some.rows().size(), rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const RowPlace& expected = all.rows()[static_cast<std::size_t>(rows[i])];
      EXPECT_EQ(some.rows()[i].sequence, expected.sequence);
      EXPECT_EQ(some.rows()[i].segment, expected.segment);
      EXPECT_EQ(some.rows()[i].row_in_segment, expected.row_in_segment);
      EXPECT_EQ(some.rows()[i].position, expected.position);
    }
    ExpectTilesCover(some);
  }
}

TEST(RowMapDeath, SegmentsThatDoNotFitAreABrokenInvariant) {
  proto::ForwardPlan plan;
  plan.sequences = {{{Computed(SegmentKind::kPrefix, 0, 1, 3)}, {}}};
  plan.tokens.resize(2);
  RowMap map(16);
  proto::PlanSegment& segment = plan.sequences[0].segments[0];
  for (const std::int32_t stored : {0, 4}) {
    segment.stored = stored;
    EXPECT_DEATH(map.Assign(plan), "compute_begin <= stored <= compute_end");
  }
  segment.stored = 3;
  segment.continues = true;
  EXPECT_DEATH(map.Assign(plan), "first segment continues none");
}

TEST(RowMapDeath, RowsWithoutTokensAreABrokenInvariant) {
  proto::ForwardPlan plan;
  plan.sequences = {{{Computed(SegmentKind::kPrefix, 0, 0, 3)}, {}}};
  plan.tokens.resize(2);
  RowMap map(16);
  EXPECT_DEATH(map.Assign(plan), "one token");
}

}  // namespace row_map_test
}  // namespace scorecast::shard

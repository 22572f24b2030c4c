#include "proto/plan/packed_sequence.h"

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/proto/plan/chain_begin.h"
#include "tests/reference/dense_mask.h"
#include "tests/reference/packed_layout.h"
#include "tests/reference/random_checkpoint.h"

namespace scorecast::proto {
namespace {

using testing::ElementsAre;

using TokenLists = std::vector<std::vector<TokenId>>;

/// The mask [rows][rows] by `Sees` and `ChainBegin`.
std::vector<std::vector<bool>> MaskOf(const std::vector<Segment>& segments) {
  std::vector<std::size_t> segment_of;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    segment_of.insert(segment_of.end(), static_cast<std::size_t>(segments[i].length), i);
  }
  const std::size_t rows = segment_of.size();
  std::vector<std::vector<bool>> sees(rows, std::vector<bool>(rows, false));
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t key = 0; key <= row; ++key) {
      sees[row][key] = segment_of[key] >= ChainBegin(segments, segment_of[row]) ||
                       Sees(segments[segment_of[row]].kind, segments[segment_of[key]].kind);
    }
  }
  return sees;
}

std::vector<std::int32_t> KeysSeenBy(const PackedSequence& sequence, std::int32_t row) {
  std::vector<std::int32_t> keys;
  const std::vector<bool> sees = MaskOf(sequence.segments).at(static_cast<std::size_t>(row));
  for (std::size_t key = 0; key < sees.size(); ++key) {
    if (sees[key]) {
      keys.push_back(static_cast<std::int32_t>(key));
    }
  }
  return keys;
}

// 14 tokens: [What is the capital of France ?] <d> [London] <d> [Paris] <d> [Berlin] <d>
const std::vector<TokenId> kQuery = {11, 12, 13, 14, 15, 16, 17};
const TokenLists kCities = {{21}, {22}, {23}};
constexpr TokenId kDelimiter = 99;

TEST(PackItems, WorkedExampleWithHiddenDelimiters) {
  const PackedSequence sequence = PackItems(kQuery, kCities);
  EXPECT_THAT(sequence.tokens, ElementsAre(11, 12, 13, 14, 15, 16, 17, 21, 22, 23));
  EXPECT_EQ(sequence.rows(), 10);
  EXPECT_THAT(reference::RowPositions(sequence.segments),
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 7, 7));
  EXPECT_EQ(sequence.PositionLimit(), 8);
  EXPECT_THAT(LastRowOfEachItem(7, kCities), ElementsAre(7, 8, 9));
  EXPECT_THAT(KeysSeenBy(sequence, 8), ElementsAre(0, 1, 2, 3, 4, 5, 6, 8));
  EXPECT_TRUE(sequence.reads.empty());
}

TEST(PackItems, WorkedExampleWithTheFirstDelimiter) {
  std::vector<TokenId> prefix = kQuery;
  prefix.push_back(kDelimiter);
  const PackedSequence sequence = PackItems(prefix, kCities);
  EXPECT_THAT(sequence.tokens, ElementsAre(11, 12, 13, 14, 15, 16, 17, 99, 21, 22, 23));
  EXPECT_THAT(reference::RowPositions(sequence.segments),
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 8, 8));
  EXPECT_EQ(sequence.PositionLimit(), 9);
  EXPECT_THAT(LastRowOfEachItem(8, kCities), ElementsAre(8, 9, 10));
  // Its row sees exactly the query, the first delimiter and itself.
  EXPECT_THAT(KeysSeenBy(sequence, 10), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 10));
}

TEST(PackItems, EmptyItemsHaveNoBlockAndAreReadAtTheLastPrefixRow) {
  const TokenLists items = {{}, {5, 6}, {}, {7}, {}};
  const PackedSequence sequence = PackItems({1, 2, 3}, items);
  EXPECT_THAT(sequence.segments,
              ElementsAre(Segment{SegmentKind::kPrefix, 3, 0}, Segment{SegmentKind::kBlock, 2, 3},
                          Segment{SegmentKind::kBlock, 1, 3}));
  EXPECT_THAT(LastRowOfEachItem(3, items), ElementsAre(2, 4, 2, 5, 2));
}

TEST(PackItems, WithoutItemsOnlyThePrefixIsLeft) {
  const PackedSequence sequence = PackItems({1, 2}, {});
  EXPECT_THAT(reference::RowPositions(sequence.segments), ElementsAre(0, 1));
  EXPECT_EQ(sequence.PositionLimit(), 2);
  EXPECT_TRUE(LastRowOfEachItem(2, {}).empty());
}

TEST(PackItems, IsLaidOutAndMaskedAsTheOracleSays) {
  std::mt19937_64 random(20);
  for (int trial = 0; trial < 100; ++trial) {
    const std::vector<TokenId> prefix = reference::RandomTokens(random(), 1 + random() % 20, 50);
    TokenLists items(random() % 8);
    for (std::vector<TokenId>& item : items) {
      item = reference::RandomTokens(random(), random() % 6, 50);
    }
    const PackedSequence sequence = PackItems(prefix, items);
    const reference::PackedLayout layout = reference::LayOut(prefix, items);
    EXPECT_EQ(sequence.tokens, layout.tokens);
    EXPECT_EQ(reference::RowPositions(sequence.segments), reference::RowPositions(layout.segments));
    EXPECT_EQ(MaskOf(sequence.segments), reference::DenseMask(layout.segments, std::nullopt));
    const std::vector<std::int32_t> last_rows(layout.last_rows.begin() + 1, layout.last_rows.end());
    EXPECT_EQ(LastRowOfEachItem(static_cast<std::int32_t>(prefix.size()), items), last_rows);
  }
}

TEST(Sees, IsTheOraclesMaskForEveryKind) {
  const std::vector<Segment> segments = {
      {SegmentKind::kPrefix, 2, 0}, {SegmentKind::kPrefix, 1, 2}, {SegmentKind::kBlock, 3, 3},
      {SegmentKind::kBlock, 1, 3},  {SegmentKind::kSuffix, 2, 6}, {SegmentKind::kSuffix, 3, 6},
  };
  EXPECT_EQ(MaskOf(segments), reference::DenseMask(segments, std::nullopt));
}

TEST(ChainBegin, IsTheSegmentThatContinuesNone) {
  const auto segment = [](SegmentKind kind, bool continues) {
    return Segment{kind, 1, 0, continues};
  };
  const std::vector<Segment> segments = {
      segment(SegmentKind::kPrefix, false), segment(SegmentKind::kPrefix, true),
      segment(SegmentKind::kBlock, false),  segment(SegmentKind::kBlock, true),
      segment(SegmentKind::kBlock, true),   segment(SegmentKind::kBlock, false),
      segment(SegmentKind::kSuffix, false), segment(SegmentKind::kSuffix, true)};
  std::vector<std::size_t> begins;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    begins.push_back(ChainBegin(segments, i));
  }
  EXPECT_THAT(begins, ElementsAre(0, 0, 2, 2, 2, 5, 6, 6));
}

// Segments that continue others see what one uncut segment would.
TEST(ChainBegin, CutsChangeNoMask) {
  std::mt19937_64 random(21);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<Segment> whole;
    std::vector<Segment> cut;
    for (const SegmentKind kind :
         {SegmentKind::kPrefix, SegmentKind::kBlock, SegmentKind::kSuffix}) {
      for (std::uint64_t n = random() % 4; n > 0; --n) {
        const auto length = static_cast<std::int32_t>(1 + random() % 6);
        whole.push_back({kind, length, 0});
        std::int32_t left = length;
        while (left > 0) {
          const auto part = static_cast<std::int32_t>(1 + random() % static_cast<unsigned>(left));
          cut.push_back({kind, part, length - left, left < length});
          left -= part;
        }
      }
    }
    EXPECT_EQ(MaskOf(cut), MaskOf(whole));
    EXPECT_EQ(MaskOf(cut), reference::DenseMask(cut, std::nullopt));
  }
}

TEST(PackedSequence, PositionsFollowTheSegments) {
  PackedSequence sequence;
  sequence.tokens = {1, 2, 3, 4, 5, 6};
  sequence.segments = {{SegmentKind::kPrefix, 1, 0},
                       {SegmentKind::kBlock, 3, 1},
                       {SegmentKind::kBlock, 0, 1},
                       {SegmentKind::kSuffix, 2, 40}};
  EXPECT_THAT(reference::RowPositions(sequence.segments), ElementsAre(0, 1, 2, 3, 40, 41));
  EXPECT_EQ(sequence.PositionLimit(), 42);
}

TEST(PackedSequence, PositionLimitFollowsTheLongestItemNotTheLastOne) {
  EXPECT_EQ(PackItems({1, 2}, {{3, 4, 5}, {6}}).PositionLimit(), 5);
  EXPECT_EQ(PackedSequence{}.PositionLimit(), 0);
  PackedSequence at_the_end;
  at_the_end.segments = {{SegmentKind::kPrefix, 2, INT32_MAX}};
  EXPECT_EQ(at_the_end.PositionLimit(), std::int64_t{INT32_MAX} + 2);
}

TEST(LastRowOfEachItemDeathTest, NeedsAPrefix) {
  EXPECT_DEATH(LastRowOfEachItem(0, {{1}}), "broken invariant");
}

}  // namespace
}  // namespace scorecast::proto

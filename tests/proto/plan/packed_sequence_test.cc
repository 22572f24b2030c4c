#include "proto/plan/packed_sequence.h"

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/proto/plan/chain_begin.h"
#include "tests/proto/plan/segment_mask.h"
#include "tests/reference/dense_mask.h"

namespace scorecast::proto {
namespace packed_sequence_test {

using testing::ElementsAre;

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

// A segment that is cut into segments that continue each other has the same mask as the uncut one.
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
  PackedSequence longest_first;
  longest_first.segments = {
      {SegmentKind::kPrefix, 2, 0}, {SegmentKind::kBlock, 3, 2}, {SegmentKind::kBlock, 1, 2}};
  EXPECT_EQ(longest_first.PositionLimit(), 5);
  EXPECT_EQ(PackedSequence{}.PositionLimit(), 0);
  PackedSequence at_the_end;
  at_the_end.segments = {{SegmentKind::kPrefix, 2, INT32_MAX}};
  EXPECT_EQ(at_the_end.PositionLimit(), std::int64_t{INT32_MAX} + 2);
}

}  // namespace packed_sequence_test
}  // namespace scorecast::proto

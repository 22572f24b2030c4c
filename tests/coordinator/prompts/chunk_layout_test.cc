#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

// Chunks and questions, and where these end.

#include "coordinator/prompts/sequence_ends.h"
#include "coordinator/prompts/sequence_layout.h"
#include "tests/reference/dense_mask.h"

namespace scorecast::coordinator {
namespace chunk_layout_test {

using proto::PackedSequence;
using proto::Segment;
using proto::SegmentKind;
using proto::TokenId;
using ::testing::ElementsAre;
using Ids = std::vector<TokenId>;

constexpr auto kShared = ChunkPositionStrategy::kShared;
constexpr auto kOffset = ChunkPositionStrategy::kOffset;

Ids Tokens(std::size_t n, TokenId first) {
  Ids ids(n);
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

Segment Prefix(int length) { return {SegmentKind::kPrefix, length, 0}; }
Segment Block(int length, int position, bool continues = false) {
  return {SegmentKind::kBlock, length, position, continues};
}
Segment Suffix(int length, int position) { return {SegmentKind::kSuffix, length, position}; }

TEST(PackChunks, SystemPromptThreeChunksAndAQuestion) {
  const PackedSequence sequence =
      PackChunks(Tokens(10, 0), {{Tokens(10, 10)}, {Tokens(10, 20)}, {Tokens(10, 30)}},
                 {Tokens(9, 40)}, kShared);
  EXPECT_EQ(sequence.tokens, Tokens(49, 0));
  EXPECT_THAT(sequence.segments,
              ElementsAre(Prefix(10), Block(10, 10), Block(10, 10), Block(10, 10), Suffix(9, 20)));
  std::vector<std::int32_t> positions = Tokens(10, 0);
  for (int chunk = 0; chunk < 3; ++chunk) {
    const Ids range = Tokens(10, 10);
    positions.insert(positions.end(), range.begin(), range.end());
  }
  const Ids question = Tokens(9, 20);
  positions.insert(positions.end(), question.begin(), question.end());
  EXPECT_EQ(reference::RowPositions(sequence.segments), positions);
  EXPECT_EQ(sequence.PositionLimit(), 29);
}

TEST(PackChunks, QuestionsBeginAfterTheLongestChunk) {
  const std::vector<ChunkGroup> groups = {{Tokens(3, 0)}, {Tokens(7, 0)}, {Tokens(1, 0)}};
  EXPECT_THAT(
      PackChunks(Tokens(2, 0), groups, {Tokens(4, 0), Tokens(5, 0)}, kShared).segments,
      ElementsAre(Prefix(2), Block(3, 2), Block(7, 2), Block(1, 2), Suffix(4, 9), Suffix(5, 9)));
}

TEST(PackChunks, OffsetKeepsPhysicalPositionsExceptOfQuestions) {
  const std::vector<ChunkGroup> groups = {{Tokens(3, 0)}, {Tokens(7, 0)}, {Tokens(1, 0)}};
  EXPECT_THAT(
      PackChunks(Tokens(2, 0), groups, {Tokens(4, 0), Tokens(5, 0)}, kOffset).segments,
      ElementsAre(Prefix(2), Block(3, 2), Block(7, 5), Block(1, 12), Suffix(4, 13), Suffix(5, 13)));
}

TEST(PackChunks, AGroupIsOneBlockOfSeveralChunks) {
  const std::vector<ChunkGroup> groups = {{Tokens(3, 0), Tokens(2, 0)}, {Tokens(4, 0)}};
  EXPECT_THAT(PackChunks(Tokens(2, 0), groups, {Tokens(1, 0)}, kShared).segments,
              ElementsAre(Prefix(2), Block(3, 2), Block(2, 5, true), Block(4, 2), Suffix(1, 7)));
  EXPECT_THAT(PackChunks(Tokens(2, 0), groups, {Tokens(1, 0)}, kOffset).segments,
              ElementsAre(Prefix(2), Block(3, 2), Block(2, 5, true), Block(4, 7), Suffix(1, 11)));
}

TEST(PackChunks, EmptyPartsGetNoSegment) {
  // The first chunk that is not empty begins its group.
  const std::vector<ChunkGroup> groups = {{{}}, {{}, Tokens(3, 0), {}, Tokens(2, 0)}, {{}, {}}};
  EXPECT_THAT(PackChunks({}, groups, {Tokens(1, 0)}, kShared).segments,
              ElementsAre(Block(3, 0), Block(2, 3, true), Suffix(1, 5)));
  EXPECT_THAT(PackChunks({}, groups, {Tokens(1, 0)}, kOffset).segments,
              ElementsAre(Block(3, 0), Block(2, 3, true), Suffix(1, 5)));
  EXPECT_THAT(PackChunks({}, {}, {Tokens(6, 0)}, kShared).segments, ElementsAre(Suffix(6, 0)));
  EXPECT_THAT(PackChunks(Tokens(6, 0), {}, {}, kShared).segments, ElementsAre(Prefix(6)));
}

TEST(EndsOf, AreTheLastRowsOfTheQuestions) {
  const std::vector<ChunkGroup> groups = {{Tokens(3, 0)}};
  const PackedSequence sequence =
      PackChunks(Tokens(2, 0), groups, {Tokens(4, 0), Tokens(1, 0)}, kShared);
  const std::vector<SequenceEnd> ends = EndsOf(sequence);
  ASSERT_EQ(ends.size(), 2U);
  EXPECT_EQ(ends[0].segment, 2U);
  EXPECT_EQ(ends[0].row, 8);
  EXPECT_EQ(ends[1].segment, 3U);
  EXPECT_EQ(ends[1].row, 9);
  const std::vector<SequenceEnd> plain = EndsOf(PackChunks(Tokens(6, 0), {}, {}, kShared));
  ASSERT_EQ(plain.size(), 1U);
  EXPECT_EQ(plain[0].segment, 0U);
  EXPECT_EQ(plain[0].row, 5);
}

TEST(AddCompletions, ExtendTheQuestions) {
  PackedSequence sequence =
      PackChunks(Tokens(2, 0), {{Tokens(3, 0)}}, {Tokens(4, 0), Tokens(1, 0)}, kShared);
  const std::vector<Segment> segments = sequence.segments;
  const std::vector<Generation> completions = AddCompletions(7, 1, sequence);
  EXPECT_EQ(sequence.segments, segments);
  ASSERT_EQ(completions.size(), 2U);
  EXPECT_EQ(completions[0].segment, 2U);
  EXPECT_EQ(completions[1].segment, 3U);
  EXPECT_EQ(completions[1].max_new_tokens, 7);
}

TEST(AddCompletions, APlainPromptGetsAnEmptySuffix) {
  PackedSequence sequence = PackChunks(Tokens(6, 0), {}, {}, kShared);
  const std::vector<Generation> completions = AddCompletions(7, 1, sequence);
  EXPECT_THAT(sequence.segments, ElementsAre(Prefix(6), Suffix(0, 6)));
  ASSERT_EQ(completions.size(), 1U);
  EXPECT_EQ(completions[0].segment, 1U);
  EXPECT_EQ(EndsOf(sequence).front().row, 5);
}

}  // namespace chunk_layout_test
}  // namespace scorecast::coordinator

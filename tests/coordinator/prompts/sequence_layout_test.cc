#include "coordinator/prompts/sequence_layout.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/proto/plan/segment_mask.h"
#include "tests/reference/dense_mask.h"
#include "tests/reference/packed_layout.h"
#include "tests/reference/random_checkpoint.h"

namespace scorecast::coordinator {
namespace sequence_layout_test {

using proto::PackedSequence;
using proto::Segment;
using proto::SegmentKind;
using proto::TokenId;
using ::testing::ElementsAre;
using TokenLists = std::vector<std::vector<TokenId>>;

std::vector<std::int32_t> KeysSeenBy(const PackedSequence& sequence, std::int32_t row) {
  std::vector<std::int32_t> keys;
  const std::vector<bool> sees = proto::MaskOf(sequence.segments).at(static_cast<std::size_t>(row));
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

SharedIds Shared(std::vector<TokenId> ids) {
  return std::make_shared<const std::vector<TokenId>>(std::move(ids));
}

TEST(PackItems, WorkedExampleWithHiddenDelimiters) {
  const SharedIds query = Shared(kQuery);
  const PackedSequence sequence = PackItems(query, kCities);
  EXPECT_THAT(sequence.AllTokens(), ElementsAre(11, 12, 13, 14, 15, 16, 17, 21, 22, 23));
  EXPECT_THAT(sequence.tokens, ElementsAre(21, 22, 23));
  EXPECT_EQ(sequence.shared.list, query);
  EXPECT_EQ(sequence.rows(), 10);
  EXPECT_THAT(reference::RowPositions(sequence.segments),
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 7, 7));
  EXPECT_EQ(sequence.PositionLimit(), 8);
  EXPECT_THAT(LastRowOfEachItem(7, kCities), ElementsAre(7, 8, 9));
  EXPECT_THAT(KeysSeenBy(sequence, 8), ElementsAre(0, 1, 2, 3, 4, 5, 6, 8));
  EXPECT_TRUE(sequence.reads.empty());
}

TEST(PackPrompt, SharesTheTokensThatItBeginsOrEndsWith) {
  const auto query = std::make_shared<const std::vector<TokenId>>(kQuery);
  const auto pack = [&](const std::vector<TokenId>& prompt) {
    const PackedSequence sequence = PackPrompt(prompt, query);
    EXPECT_EQ(sequence.AllTokens(), prompt);
    EXPECT_EQ(sequence.rows(), static_cast<std::int64_t>(prompt.size()));
    EXPECT_THAT(sequence.segments,
                ElementsAre(Segment{SegmentKind::kPrefix, static_cast<int>(prompt.size()), 0}));
    return sequence.tokens;
  };
  EXPECT_THAT(pack({11, 12, 13, 14, 15, 16, 17, 21, 22}), ElementsAre(21, 22));
  EXPECT_THAT(pack({11, 12, 13, 14, 15, 16, 99, 21}), ElementsAre(99, 21)) << "merged";
  EXPECT_THAT(pack({21, 22, 11, 12, 13, 14, 15, 16, 17}), ElementsAre(21, 22)) << "item first";
  EXPECT_THAT(pack({21, 99, 16, 17}), ElementsAre(21, 99));
  EXPECT_THAT(pack({11, 12, 13, 14, 15, 16, 17}), ElementsAre());
  EXPECT_THAT(pack({11, 12}), ElementsAre());
  EXPECT_THAT(pack({21, 22, 23}), ElementsAre(21, 22, 23)) << "nothing in common";
  EXPECT_THAT(pack({17, 5, 11}), ElementsAre(17, 5, 11));
  EXPECT_THAT(pack({11, 5, 16, 17}), ElementsAre(11, 5));
}

TEST(PackHeadAndRest, SharesTheTokensThatTheRestEndsWith) {
  const auto query = std::make_shared<const std::vector<TokenId>>(kQuery);
  const auto pack = [&](const std::vector<TokenId>& head, const std::vector<TokenId>& rest) {
    const PackedSequence sequence = PackHeadAndRest(head, rest, query);
    std::vector<TokenId> all = head;
    all.insert(all.end(), rest.begin(), rest.end());
    EXPECT_EQ(sequence.AllTokens(), all);
    return sequence;
  };
  const PackedSequence whole = pack({1, 2}, kQuery);
  EXPECT_THAT(whole.tokens, ElementsAre(1, 2));
  EXPECT_THAT(whole.segments, ElementsAre(Segment{SegmentKind::kPrefix, 2, 0},
                                          Segment{SegmentKind::kSuffix, 7, 2}));
  EXPECT_THAT(pack({1, 2}, {5, 16, 17}).tokens, ElementsAre(1, 2, 5));
  EXPECT_THAT(pack({1, 2}, {5}).tokens, ElementsAre(1, 2, 5));
  EXPECT_THAT(pack({1}, {99, 11, 12, 13, 14, 15, 16, 17}).tokens, ElementsAre(1, 99));
  const PackedSequence headless = pack({}, {5, 17});
  EXPECT_THAT(headless.tokens, ElementsAre(5));
  EXPECT_THAT(headless.segments, ElementsAre(Segment{SegmentKind::kPrefix, 2, 0}));
}

TEST(PackItems, WorkedExampleWithTheFirstDelimiter) {
  std::vector<TokenId> prefix = kQuery;
  prefix.push_back(kDelimiter);
  const PackedSequence sequence = PackItems(Shared(prefix), kCities);
  EXPECT_THAT(sequence.AllTokens(), ElementsAre(11, 12, 13, 14, 15, 16, 17, 99, 21, 22, 23));
  EXPECT_THAT(reference::RowPositions(sequence.segments),
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 8, 8));
  EXPECT_EQ(sequence.PositionLimit(), 9);
  EXPECT_THAT(LastRowOfEachItem(8, kCities), ElementsAre(8, 9, 10));
  // Its row sees exactly the query, the first delimiter and itself.
  EXPECT_THAT(KeysSeenBy(sequence, 10), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 10));
}

TEST(PackItems, EmptyItemsHaveNoBlockAndAreReadAtTheLastPrefixRow) {
  const TokenLists items = {{}, {5, 6}, {}, {7}, {}};
  const PackedSequence sequence = PackItems(Shared({1, 2, 3}), items);
  EXPECT_THAT(sequence.segments,
              ElementsAre(Segment{SegmentKind::kPrefix, 3, 0}, Segment{SegmentKind::kBlock, 2, 3},
                          Segment{SegmentKind::kBlock, 1, 3}));
  EXPECT_THAT(LastRowOfEachItem(3, items), ElementsAre(2, 4, 2, 5, 2));
}

TEST(PackItems, WithoutItemsOnlyThePrefixIsLeft) {
  const PackedSequence sequence = PackItems(Shared({1, 2}), {});
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
    const PackedSequence sequence = PackItems(Shared(prefix), items);
    const reference::PackedLayout layout = reference::LayOut(prefix, items);
    EXPECT_EQ(sequence.AllTokens(), layout.tokens);
    EXPECT_EQ(reference::RowPositions(sequence.segments), reference::RowPositions(layout.segments));
    EXPECT_EQ(proto::MaskOf(sequence.segments),
              reference::DenseMask(layout.segments, std::nullopt));
    const std::vector<std::int32_t> last_rows(layout.last_rows.begin() + 1, layout.last_rows.end());
    EXPECT_EQ(LastRowOfEachItem(static_cast<std::int32_t>(prefix.size()), items), last_rows);
  }
}

TEST(PackItems, ThePositionLimitFollowsTheLongestItemNotTheLastOne) {
  EXPECT_EQ(PackItems(Shared({1, 2}), TokenLists{{3, 4, 5}, {6}}).PositionLimit(), 5);
}

TEST(LastRowOfEachItemDeathTest, NeedsAPrefix) {
  EXPECT_DEATH(LastRowOfEachItem(0, TokenLists{{1}}), "broken invariant");
}

}  // namespace sequence_layout_test
}  // namespace scorecast::coordinator

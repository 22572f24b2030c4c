// Which sequences items become, what they read, and which items are refused.

#include "coordinator/prompts/prompt_packer.h"

#include <numeric>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/schedule/pages/capacity.h"

namespace scorecast::coordinator {
namespace prompt_packer_test {

using proto::LabelList;
using proto::PackedSequence;
using proto::RowRead;
using proto::Segment;
using proto::SegmentKind;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Ids = std::vector<TokenId>;

const std::vector<LabelList> kLabels = {{5, 6}};
/// A pass computes 16 rows, and no K/V outlives it.
constexpr proto::PlanLimits kOnePass = {
    .max_rows = 16, .max_reads = 16, .pass_kv_rows = 1024, .kept_kv_rows = 0};
constexpr proto::PlanLimits kRoom = {
    .max_rows = 16, .max_reads = 16, .pass_kv_rows = 1024, .kept_kv_rows = 4096};

Ids Tokens(std::size_t count, TokenId first) {
  Ids ids(count);
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

struct Packer : PromptPacker {
  explicit Packer(std::size_t num_items, const proto::PlanLimits& limits = kRoom,
                  const std::vector<LabelList>& labels = kLabels)
      : PromptPacker("texts", num_items, {.label_lists = labels}, limits) {}

  PackedPrompts Packed() { return std::move(*this).Take(); }
};

/// The tokens that an item's reads see, each alone: those of the prefix and its block up to the
/// row.
std::vector<Ids> SeenByReads(const PackedPrompts& packed, std::size_t item) {
  const PackedPrompts::ItemReads& reads = packed.items.at(item);
  const PackedSequence& sequence = packed.sequences.at(reads.sequence);
  const Ids all = sequence.AllTokens();
  std::vector<Ids> seen;
  for (std::size_t i = reads.first; i < reads.first + reads.count; ++i) {
    const std::int32_t row = sequence.reads.at(i).row;
    Ids tokens;
    std::int32_t begin = 0;
    for (const Segment& segment : sequence.segments) {
      const std::int32_t end = begin + segment.length;
      const bool is_own = begin <= row && row < end;
      if (is_own || (segment.kind == SegmentKind::kPrefix && begin <= row)) {
        tokens.insert(tokens.end(), all.begin() + begin, all.begin() + (is_own ? row + 1 : end));
      }
      begin = end;
    }
    seen.push_back(tokens);
  }
  return seen;
}

TEST(PromptPacker, BlocksAreOneSequenceBehindThePrefix) {
  Packer packer(3);
  packer.Begin({1, 2});
  EXPECT_FALSE(packer.Add(0, {{3, 4}}));
  EXPECT_FALSE(packer.Add(1, {{}}));
  EXPECT_FALSE(packer.Add(2, {{5}}));
  EXPECT_FALSE(packer.PackBlocks());
  const PackedPrompts packed = packer.Packed();
  ASSERT_EQ(packed.sequences.size(), 1U);
  const PackedSequence& sequence = packed.sequences[0];
  EXPECT_THAT(sequence.AllTokens(), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(sequence.tokens, ElementsAre(3, 4, 5)) << "the prefix is shared";
  EXPECT_THAT(sequence.segments,
              ElementsAre(Segment{SegmentKind::kPrefix, 2, 0}, Segment{SegmentKind::kBlock, 2, 2},
                          Segment{SegmentKind::kBlock, 1, 2}));
  EXPECT_THAT(sequence.reads, ElementsAre(RowRead{3}, RowRead{1}, RowRead{4}));
  EXPECT_EQ(sequence.label_lists, kLabels);
  EXPECT_EQ(packed.prompt_tokens, 5);
}

TEST(PromptPacker, AWholePromptIsASequenceOfItsOwn) {
  Packer packer(3);
  packer.Begin({1, 2});
  EXPECT_FALSE(packer.Add(0, {{3}}));
  EXPECT_FALSE(packer.Add(1, {{1, 9, 8}, /*is_whole=*/true}));
  EXPECT_FALSE(packer.PackBlocks());
  EXPECT_FALSE(packer.Add(2, {{7, 1, 2}, /*is_whole=*/true}));
  const PackedPrompts packed = packer.Packed();
  ASSERT_EQ(packed.sequences.size(), 3U);
  EXPECT_THAT(SeenByReads(packed, 0), ElementsAre(ElementsAre(1, 2, 3)));
  EXPECT_THAT(SeenByReads(packed, 1), ElementsAre(ElementsAre(1, 9, 8)));
  EXPECT_THAT(SeenByReads(packed, 2), ElementsAre(ElementsAre(7, 1, 2)));
  EXPECT_EQ(packed.items[1].sequence, 0U) << "added before the blocks were packed";
  EXPECT_THAT(packed.sequences[0].tokens, ElementsAre(9, 8));
  EXPECT_THAT(packed.sequences[2].tokens, ElementsAre(7));
  EXPECT_EQ(packed.prompt_tokens, 3 + 3 + 3);
}

TEST(PromptPacker, WithoutAPrefixEveryItemIsAPrompt) {
  Packer packer(2);
  packer.Begin({});
  EXPECT_FALSE(packer.Add(0, {{3, 4}}));
  EXPECT_FALSE(packer.Add(1, {{5}}));
  EXPECT_FALSE(packer.PackBlocks());
  const PackedPrompts packed = packer.Packed();
  ASSERT_EQ(packed.sequences.size(), 2U);
  EXPECT_THAT(packed.sequences[1].segments, ElementsAre(Segment{SegmentKind::kPrefix, 1, 0}));
  EXPECT_THAT(packed.sequences[1].reads, ElementsAre(RowRead{0}));
}

TEST(PromptPacker, ReadsTheRowsThatAreAskedFor) {
  Packer packer(3);
  packer.Begin({1, 2});
  EXPECT_FALSE(packer.Add(0, {{3, 9, 9}}, {1, 2}));
  EXPECT_FALSE(packer.Add(1, {{9, 4}}, {0}));
  EXPECT_FALSE(packer.Add(2, {{1, 9, 5}, /*is_whole=*/true}, {1}));
  EXPECT_FALSE(packer.PackBlocks());
  const PackedPrompts packed = packer.Packed();
  EXPECT_THAT(SeenByReads(packed, 0), ElementsAre(Ids{1, 2, 3, 9}, Ids{1, 2, 3, 9, 9}));
  EXPECT_THAT(SeenByReads(packed, 1), ElementsAre(Ids{1, 2, 9}));
  EXPECT_THAT(SeenByReads(packed, 2), ElementsAre(Ids{1, 9}));
}

TEST(PromptPacker, EachPrefixHasItsItems) {
  Packer packer(4);
  packer.Begin({1});
  EXPECT_FALSE(packer.Add(3, {{10}}));
  EXPECT_FALSE(packer.Add(0, {{11}}));
  EXPECT_FALSE(packer.PackBlocks());
  packer.Begin({2, 2});
  EXPECT_FALSE(packer.Add(1, {{12}}));
  EXPECT_FALSE(packer.Add(2, {{13}}));
  EXPECT_FALSE(packer.PackBlocks());
  const PackedPrompts packed = packer.Packed();
  ASSERT_EQ(packed.sequences.size(), 2U);
  EXPECT_THAT(SeenByReads(packed, 0), ElementsAre(Ids{1, 11}));
  EXPECT_THAT(SeenByReads(packed, 1), ElementsAre(Ids{2, 2, 12}));
  EXPECT_THAT(SeenByReads(packed, 2), ElementsAre(Ids{2, 2, 13}));
  EXPECT_THAT(SeenByReads(packed, 3), ElementsAre(Ids{1, 10}));
  EXPECT_EQ(packed.prompt_tokens, 3 + 4);
}

TEST(PromptPacker, AnItemMayStandFirst) {
  Packer packer(2);
  packer.Begin({1});
  EXPECT_FALSE(packer.AddItemFirst(0, {.ids = {5, 6, 7}, .head = {10, 11}}));
  EXPECT_FALSE(packer.AddItemFirst(1, {.ids = {8, 6, 7}, .is_whole = true, .head = {9, 12}}));
  const PackedPrompts packed = packer.Packed();
  ASSERT_EQ(packed.sequences.size(), 2U);
  EXPECT_THAT(packed.sequences[0].AllTokens(), ElementsAre(1, 10, 11, 5, 6, 7));
  EXPECT_THAT(packed.sequences[0].segments, ElementsAre(Segment{SegmentKind::kPrefix, 3, 0},
                                                        Segment{SegmentKind::kSuffix, 3, 3}));
  EXPECT_THAT(packed.sequences[0].reads, ElementsAre(RowRead{5}));
  EXPECT_THAT(packed.sequences[1].AllTokens(), ElementsAre(9, 12, 8, 6, 7));
  EXPECT_EQ(packed.sequences[0].shared.list, packed.sequences[1].shared.list);
  EXPECT_EQ(packed.sequences[1].shared.count, 2U);
  EXPECT_EQ(packed.prompt_tokens, 6 + 5) << "every prompt counts wholly";
}

TEST(PromptPacker, EachItemMayHaveItsLabels) {
  const std::vector<LabelList> labels = {{10}, {11}, {12}};
  Packer packer(3, kRoom, labels);
  packer.Begin({1});
  EXPECT_FALSE(packer.Add(0, {{5, 5}, /*is_whole=*/true}));
  EXPECT_FALSE(packer.Add(1, {{2}}));
  EXPECT_FALSE(packer.Add(2, {{3}}));
  EXPECT_FALSE(packer.PackBlocks());
  const PackedPrompts packed = packer.Packed();
  EXPECT_THAT(packed.sequences[0].label_lists, ElementsAre(ElementsAre(10)));
  EXPECT_THAT(packed.sequences[1].label_lists, ElementsAre(ElementsAre(11), ElementsAre(12)));
  EXPECT_THAT(packed.sequences[1].reads, ElementsAre(RowRead{1, 0}, RowRead{2, 1}));
}

TEST(PromptPacker, TheLastRowOfThePrefixMayBeReadFirst) {
  Packer packer(1);
  packer.Begin({1, 2});
  EXPECT_FALSE(packer.Add(0, {{3}}));
  EXPECT_FALSE(packer.PackBlocksAsOne(/*reads_prefix=*/true));
  const PackedPrompts packed = packer.Packed();
  EXPECT_THAT(packed.sequences[0].reads, ElementsAre(RowRead{1}, RowRead{2}));
  EXPECT_EQ(packed.items[0].first, 1U);

  for (const bool reads_prefix : {false, true}) {
    Packer empty(0);
    empty.Begin({1, 2});
    EXPECT_FALSE(empty.PackBlocksAsOne(reads_prefix));
    const PackedPrompts alone = empty.Packed();
    EXPECT_EQ(alone.sequences.size(), reads_prefix ? 1U : 0U);
    EXPECT_EQ(alone.prompt_tokens, reads_prefix ? 2 : 0);
  }
}

// A prompt's tokens, the rows read and the labels are the same with and without division, whatever
// the limits are; and no sequence of a division is one that cannot be computed.
TEST(PromptPacker, DivisionChangesNothingThatAnItemSees) {
  std::mt19937_64 random(28);
  int divided = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const std::size_t count = 1 + random() % 40;
    std::vector<LabelList> labels;
    for (std::size_t i = 0; i < (trial % 2 == 0 ? 1 : count); ++i) {
      labels.push_back({static_cast<TokenId>(100 + i)});
    }
    const Ids prefix = Tokens(1 + random() % 8, 1);
    Packer whole(count, kRoom, labels);
    Packer parts(count, kOnePass, labels);
    for (Packer* packer : {&whole, &parts}) {
      packer->Begin(prefix);
    }
    for (std::size_t i = 0; i < count; ++i) {
      const Ids ids = Tokens(random() % 8, static_cast<TokenId>(10 * i));
      std::vector<std::int32_t> rows;
      for (std::int32_t row = 0; row < static_cast<std::int32_t>(ids.size()); ++row) {
        if (trial % 3 == 0 && random() % 2 == 0) {
          rows.push_back(row);
        }
      }
      for (Packer* packer : {&whole, &parts}) {
        ASSERT_FALSE(packer->Add(i, {ids}, rows));
      }
    }
    ASSERT_FALSE(whole.PackBlocks());
    ASSERT_FALSE(parts.PackBlocks());
    const PackedPrompts one = whole.Packed();
    const PackedPrompts several = parts.Packed();
    ASSERT_EQ(one.sequences.size(), 1U);
    divided += several.sequences.size() > 1 ? 1 : 0;
    EXPECT_EQ(several.prompt_tokens, one.prompt_tokens) << "the prefix counts once";
    for (const PackedSequence& sequence : several.sequences) {
      EXPECT_FALSE(CapacityFault(sequence, kOnePass));
      EXPECT_EQ(sequence.shared.list, several.sequences[0].shared.list);
    }
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(SeenByReads(several, i), SeenByReads(one, i));
      const auto label_of = [&](const PackedPrompts& packed) {
        const PackedSequence& sequence = packed.sequences[packed.items[i].sequence];
        const RowRead& read = sequence.reads[packed.items[i].first];
        return sequence.label_lists[static_cast<std::size_t>(read.label_list)];
      };
      ASSERT_EQ(label_of(several), label_of(one));
    }
  }
  EXPECT_GT(divided, 100);
}

TEST(PromptPacker, OnlyAnItemThatDoesNotFitAloneIsRefusedAndNamed) {
  for (const std::size_t too_long : {0U, 3U, 6U}) {
    for (const std::size_t length : {8U, 9U}) {  // 8 tokens behind 8 of the prefix fill a pass.
      Packer packer(7, kOnePass);
      packer.Begin(Tokens(8, 1));
      for (std::size_t i = 0; i < 7; ++i) {
        EXPECT_FALSE(packer.Add(i, {Tokens(i == too_long ? length : 5, 20)}));
      }
      const std::optional<proto::Error> fault = packer.PackBlocks();
      ASSERT_EQ(fault.has_value(), length == 9U);
      if (fault) {
        EXPECT_EQ(fault->code, 400);
        EXPECT_EQ(fault->reason, "capacity");
        EXPECT_EQ(fault->param, "texts[" + std::to_string(too_long) + "]");
      }
    }
  }
  Packer packer(4, kOnePass);
  packer.Begin({1});
  const auto whole = packer.Add(2, {Tokens(17, 1), /*is_whole=*/true});
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->param, "texts[2]");
  const auto first = packer.AddItemFirst(3, {.ids = Tokens(6, 1), .head = Tokens(10, 1)});
  ASSERT_TRUE(first);
  EXPECT_EQ(first->param, "texts[3]");
}

TEST(PromptPacker, OneSequenceIsNotDivided) {
  Packer packer(4, kOnePass);
  packer.Begin(Tokens(8, 1));
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_FALSE(packer.Add(i, {Tokens(5, 20)}));
  }
  const std::optional<proto::Error> fault = packer.PackBlocksAsOne(/*reads_prefix=*/false);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->reason, "capacity");
  EXPECT_EQ(fault->param, "texts");
  EXPECT_THAT(packer.Packed().sequences, IsEmpty());
}

}  // namespace prompt_packer_test
}  // namespace scorecast::coordinator

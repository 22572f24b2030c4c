// The tokens of items that are continued texts, alone, or ids.

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/coordinator/endpoints/score/score_preparation.h"
#include "tests/coordinator/fake_tokenizer.h"

namespace scorecast::coordinator {
namespace merging_items_test {

using proto::PackedSequence;
using proto::RowRead;
using proto::Segment;
using proto::SegmentKind;
using ::testing::ElementsAre;

using Ids = std::vector<TokenId>;

/// "ab" is one token, so an item that begins with "b" merges with a query that ends in "a".
class MergingBorder : public ScorePreparation {
 protected:
  MergingBorder() {
    options_.delimiter = 256;
    options_.item_tokenization = ItemTokenization::kContinued;
    request_["query"] = "xa";
  }

  const FakeTokenizer tokenizer_{{{"<d>", 256}, {"ab", 257}}, kBos};
};

TEST_F(MergingBorder, AnItemThatMergesIsASequenceOfItsOwn) {
  request_["items"] = {"b1", "c", "", "2"};
  const Prepared prepared = Prepare(&tokenizer_);
  ASSERT_EQ(prepared.sequences.size(), 2u);
  const PackedSequence& packed = prepared.sequences[0];
  EXPECT_THAT(packed.AllTokens(), ElementsAre(kBos, 'x', 'a', 'c', '2'));
  EXPECT_THAT(packed.segments,
              ElementsAre(Segment{SegmentKind::kPrefix, 3, 0}, Segment{SegmentKind::kBlock, 1, 3},
                          Segment{SegmentKind::kBlock, 1, 3}));
  EXPECT_THAT(packed.reads,
              ElementsAre(RowRead{3, 0, true, 0}, RowRead{2, 0, true, 0}, RowRead{4, 0, true, 0}));
  const PackedSequence& own = prepared.sequences[1];
  EXPECT_THAT(own.AllTokens(), ElementsAre(kBos, 'x', 257, '1'));
  EXPECT_THAT(own.segments, ElementsAre(Segment{SegmentKind::kPrefix, 4, 0}));
  EXPECT_THAT(own.reads, ElementsAre(RowRead{3, 0, true, 0}));
  EXPECT_THAT(own.label_lists, ElementsAre(ElementsAre(5, 6)));
  EXPECT_THAT(prepared.readout.item_rows, ElementsAre(3, 0, 1, 2));
  EXPECT_EQ(prepared.readout.prompt_tokens, 9) << "a sequence of its own counts wholly";
}

TEST_F(MergingBorder, TheQueryIsComputedOnlyIfSomethingReadsIt) {
  request_["items"] = {"b", "b2"};
  const Prepared alone = Prepare(&tokenizer_);
  ASSERT_EQ(alone.sequences.size(), 2u);
  EXPECT_THAT(alone.sequences[0].AllTokens(), ElementsAre(kBos, 'x', 257));
  EXPECT_THAT(alone.sequences[1].AllTokens(), ElementsAre(kBos, 'x', 257, '2'));
  EXPECT_THAT(alone.readout.item_rows, ElementsAre(0, 1));
  EXPECT_EQ(alone.readout.prompt_tokens, 7);
  request_["return_token_logprobs"] = true;
  const Prepared with_query = Prepare(&tokenizer_);
  ASSERT_EQ(with_query.sequences.size(), 3u);
  EXPECT_THAT(with_query.sequences[0].AllTokens(), ElementsAre(kBos, 'x', 'a'));
  EXPECT_THAT(with_query.sequences[0].reads, ElementsAre(RowRead{2, 0, true, 0}));
  EXPECT_TRUE(with_query.readout.query_row);
  EXPECT_THAT(with_query.readout.item_rows, ElementsAre(0, 1));
  EXPECT_EQ(with_query.readout.prompt_tokens, 10);
}

TEST_F(MergingBorder, EachItemKeepsItsLabels) {
  request_["items"] = {"b", "c", "b2"};
  request_["label_token_ids"] = std::vector<Ids>{{7}, {8, 9}, {10}};
  const Prepared prepared = Prepare(&tokenizer_);
  ASSERT_EQ(prepared.sequences.size(), 3u);
  const PackedSequence& packed = prepared.sequences[0];
  ASSERT_EQ(packed.reads.size(), 1u);
  EXPECT_THAT(packed.label_lists[static_cast<std::size_t>(packed.reads[0].label_list)],
              ElementsAre(8, 9));
  EXPECT_THAT(prepared.sequences[1].label_lists, ElementsAre(ElementsAre(7)));
  EXPECT_THAT(prepared.sequences[2].label_lists, ElementsAre(ElementsAre(10)));
  EXPECT_THAT(prepared.readout.item_rows, ElementsAre(1, 0, 2));
}

TEST_F(MergingBorder, WithADelimiterItemsAreEncodedAloneByDefault) {
  options_.item_tokenization.reset();
  request_["items"] = {"b", "c"};
  const Prepared prepared = Prepare(&tokenizer_);
  ASSERT_EQ(prepared.sequences.size(), 1u);
  EXPECT_THAT(prepared.sequences[0].AllTokens(), ElementsAre(kBos, 'x', 'a', 'b', 'c'));
}

TEST_F(MergingBorder, WithoutADelimiterItemsContinueTheQueryByDefault) {
  options_.delimiter.reset();
  options_.item_tokenization.reset();
  request_["items"] = {"b1", "c", ""};
  request_["return_token_logprobs"] = true;
  const Prepared prepared = Prepare(&tokenizer_);
  ASSERT_EQ(prepared.sequences.size(), 2u);
  EXPECT_THAT(prepared.sequences[0].AllTokens(), ElementsAre(kBos, 'x', 257, '1'));
  EXPECT_THAT(prepared.sequences[1].AllTokens(), ElementsAre(kBos, 'x', 'a', 'c'));
  EXPECT_THAT(prepared.sequences[1].reads,
              ElementsAre(RowRead{3, 0, true, 0}, RowRead{2, 0, true, 0}));
  EXPECT_THAT(prepared.readout.item_rows, ElementsAre(0, 1, 2));
  EXPECT_EQ(prepared.readout.prompt_tokens, 8);
  options_.enable_mis = true;
  EXPECT_THAT(Prepare(&tokenizer_).sequences[0].AllTokens(),
              ElementsAre(kBos, 'x', 'a', 'b', '1', 'c'));
}

TEST_F(MergingBorder, OneByOneItemsCanBeEncodedAlone) {
  ScoreOneByOne();
  options_.item_tokenization = ItemTokenization::kAlone;
  request_["items"] = {"b", "c"};
  const Prepared prepared = Prepare(&tokenizer_);
  EXPECT_THAT(prepared.sequences[0].AllTokens(), ElementsAre(kBos, 'x', 'a', 'b'));
  request_["query"] = "b";
  request_["items"] = {"a"};
  request_["item_first"] = true;
  EXPECT_THAT(Prepare(&tokenizer_).sequences[0].AllTokens(), ElementsAre(kBos, 'a', 'b'));
  options_.item_tokenization = ItemTokenization::kContinued;
  EXPECT_THAT(Prepare(&tokenizer_).sequences[0].AllTokens(), ElementsAre(kBos, 257));
}

TEST_F(MergingBorder, IdsAreTakenAsTheyAre) {
  request_["query"] = Ids{'x', 'a'};
  request_["items"] = {Ids{'b'}};
  const Prepared prepared = Prepare(&tokenizer_);
  EXPECT_THAT(prepared.sequences[0].AllTokens(), ElementsAre('x', 'a', 'b'));
}

}  // namespace merging_items_test
}  // namespace scorecast::coordinator

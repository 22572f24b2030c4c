#include "tests/coordinator/endpoints/score/score_preparation.h"

#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/coordinator/fake_tokenizer.h"
#include "tests/reference/dense_mask.h"

namespace scorecast::coordinator {
namespace score_preparation_test {

using nlohmann::json;
using proto::PackedSequence;
using proto::RowRead;
using proto::Segment;
using proto::SegmentKind;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;

using Ids = std::vector<TokenId>;

/// [What is the capital of France ?] <d> [London] <d> [Paris] <d> [Berlin] <d>: 14 tokens.
class WorkedExample : public ScorePreparation {
 protected:
  WorkedExample() {
    request_["query"] = Ids{11, 12, 13, 14, 15, 16, 17};
    request_["items"] = {Ids{21}, Ids{22}, Ids{23}};
    options_.delimiter = 0;  // Any id is valid, even 0.
  }
};

TEST_F(WorkedExample, VisibilityHiddenComputesNoDelimiter) {
  const Prepared prepared = Prepare();
  ASSERT_EQ(prepared.sequences.size(), 1u);
  const PackedSequence& sequence = prepared.sequences[0];
  EXPECT_THAT(sequence.AllTokens(), ElementsAre(11, 12, 13, 14, 15, 16, 17, 21, 22, 23));
  EXPECT_THAT(sequence.segments,
              ElementsAre(Segment{SegmentKind::kPrefix, 7, 0}, Segment{SegmentKind::kBlock, 1, 7},
                          Segment{SegmentKind::kBlock, 1, 7}, Segment{SegmentKind::kBlock, 1, 7}));
  EXPECT_THAT(reference::RowPositions(sequence.segments),
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 7, 7));
  EXPECT_THAT(sequence.reads,
              ElementsAre(RowRead{7, 0, true, 0}, RowRead{8, 0, true, 0}, RowRead{9, 0, true, 0}));
  EXPECT_THAT(sequence.label_lists, ElementsAre(ElementsAre(5, 6)));
  EXPECT_EQ(prepared.readout.prompt_tokens, 10);
}

TEST_F(WorkedExample, VisibilityFirstPutsTheFirstDelimiterIntoThePrefix) {
  options_.delimiter_visibility = DelimiterVisibility::kFirst;
  request_["return_token_logprobs"] = true;
  const Prepared prepared = Prepare();
  ASSERT_EQ(prepared.sequences.size(), 1u);
  const PackedSequence& sequence = prepared.sequences[0];
  // Items see the prefix, which is exactly query and first delimiter, and themselves.
  EXPECT_THAT(sequence.AllTokens(), ElementsAre(11, 12, 13, 14, 15, 16, 17, 0, 21, 22, 23));
  EXPECT_THAT(sequence.segments,
              ElementsAre(Segment{SegmentKind::kPrefix, 8, 0}, Segment{SegmentKind::kBlock, 1, 8},
                          Segment{SegmentKind::kBlock, 1, 8}, Segment{SegmentKind::kBlock, 1, 8}));
  EXPECT_THAT(sequence.reads, ElementsAre(RowRead{7, 0, true, 0}, RowRead{8, 0, true, 0},
                                          RowRead{9, 0, true, 0}, RowRead{10, 0, true, 0}))
      << "the query's row is the delimiter's";
  EXPECT_EQ(prepared.readout.prompt_tokens, 11);
}

TEST_F(WorkedExample, NeedsNoDelimiter) {
  options_.delimiter.reset();
  for (const bool enable_mis : {false, true}) {
    options_.enable_mis = enable_mis;
    const Prepared prepared = Prepare();
    ASSERT_EQ(prepared.sequences.size(), 1u);
    EXPECT_THAT(prepared.sequences[0].AllTokens(),
                ElementsAre(11, 12, 13, 14, 15, 16, 17, 21, 22, 23));
    EXPECT_THAT(
        prepared.sequences[0].segments,
        ElementsAre(Segment{SegmentKind::kPrefix, 7, 0}, Segment{SegmentKind::kBlock, 1, 7},
                    Segment{SegmentKind::kBlock, 1, 7}, Segment{SegmentKind::kBlock, 1, 7}));
    EXPECT_EQ(prepared.readout.prompt_tokens, 10);
  }
}

TEST_F(WorkedExample, TheQueryRowIsReadOnlyUnderSglangsRules) {
  options_.delimiter.reset();
  request_["return_token_logprobs"] = true;
  request_["top_logprobs"] = 3;
  const Prepared without = Prepare();
  EXPECT_THAT(without.sequences[0].reads,
              ElementsAre(RowRead{7, 0, true, 3}, RowRead{8, 0, true, 3}, RowRead{9, 0, true, 3}));
  EXPECT_FALSE(without.readout.query_row);
  EXPECT_FALSE(without.readout.query_token_logprobs);
  options_.enable_mis = true;
  const Prepared with = Prepare();
  EXPECT_THAT(with.sequences[0].reads, ElementsAre(RowRead{6, 0, true, 3}, RowRead{7, 0, true, 3},
                                                   RowRead{8, 0, true, 3}, RowRead{9, 0, true, 3}));
  EXPECT_TRUE(with.readout.query_row);
  EXPECT_TRUE(with.readout.query_token_logprobs);
}

TEST_F(WorkedExample, OneByOneEachItemHasAPromptOfItsOwn) {
  ScoreOneByOne();
  const Prepared prepared = Prepare();
  ASSERT_EQ(prepared.sequences.size(), 3u);
  EXPECT_THAT(prepared.sequences[1].AllTokens(), ElementsAre(11, 12, 13, 14, 15, 16, 17, 22));
  EXPECT_THAT(prepared.sequences[1].segments, ElementsAre(Segment{SegmentKind::kPrefix, 8, 0}));
  EXPECT_THAT(prepared.sequences[1].reads, ElementsAre(RowRead{7, 0, true, 0}));
  EXPECT_EQ(prepared.readout.prompt_tokens, 24) << "the tokens of every prompt";
}

TEST_F(WorkedExample, ItemFirstIsScoredOneByOneAndIgnoredUnderSglangsRules) {
  request_["item_first"] = true;
  for (const auto& [enable_mis, delimiter] :
       {std::pair(false, std::optional<TokenId>(0)), std::pair(true, std::optional<TokenId>())}) {
    options_.enable_mis = enable_mis;
    options_.delimiter = delimiter;
    const Prepared packed = Prepare();
    EXPECT_TRUE(packed.readout.item_first_ignored);
    EXPECT_EQ(packed.sequences[0].AllTokens().front(), 11);
  }
  options_.enable_mis = false;
  for (const bool one_by_one : {false, true}) {
    options_.one_by_one = one_by_one;
    const Prepared prompts = Prepare();
    EXPECT_FALSE(prompts.readout.item_first_ignored);
    ASSERT_EQ(prompts.sequences.size(), 3u);
    EXPECT_THAT(prompts.sequences[2].AllTokens(), ElementsAre(23, 11, 12, 13, 14, 15, 16, 17));
    EXPECT_EQ(prompts.readout.prompt_tokens, 24) << "the tokens of every prompt";
  }
}

// A pass computes 16 rows, and no K/V outlives it.
TEST_F(WorkedExample, ItemsThatNeverFitOneSequenceHaveSeveralWithTheSamePrefix) {
  options_.delimiter.reset();
  limits_ = {.max_rows = 16, .max_reads = 16, .pass_kv_rows = 256, .kept_kv_rows = 0};
  request_["items"] = {Ids{21, 22, 23}, Ids{24}, Ids{}, Ids{25, 26, 27, 28}, Ids{29, 30}};
  request_["label_token_ids"] = std::vector<Ids>{{1}, {2}, {3}, {4}, {5}};
  const Prepared prepared = Prepare();
  ASSERT_EQ(prepared.sequences.size(), 2u);
  EXPECT_THAT(prepared.sequences[0].AllTokens(),
              ElementsAre(11, 12, 13, 14, 15, 16, 17, 21, 22, 23, 24));
  EXPECT_THAT(prepared.sequences[1].AllTokens(),
              ElementsAre(11, 12, 13, 14, 15, 16, 17, 25, 26, 27, 28, 29, 30));
  EXPECT_THAT(prepared.sequences[1].segments,
              ElementsAre(Segment{SegmentKind::kPrefix, 7, 0}, Segment{SegmentKind::kBlock, 4, 7},
                          Segment{SegmentKind::kBlock, 2, 7}));
  EXPECT_THAT(prepared.sequences[0].label_lists, ElementsAre(ElementsAre(1), ElementsAre(2)));
  EXPECT_THAT(prepared.sequences[1].label_lists,
              ElementsAre(ElementsAre(3), ElementsAre(4), ElementsAre(5)));
  EXPECT_THAT(
      prepared.sequences[1].reads,
      ElementsAre(RowRead{6, 0, true, 0}, RowRead{10, 1, true, 0}, RowRead{12, 2, true, 0}));
  EXPECT_EQ(prepared.sequences[0].shared.list, prepared.sequences[1].shared.list);
  EXPECT_THAT(prepared.readout.item_rows, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(prepared.readout.prompt_tokens, 17) << "the query counts once";
}

TEST_F(WorkedExample, OnlyRowsThatTheResponseNeedsAreRead) {
  struct Case {
    bool softmax, logprobs;
    std::int64_t top;
    bool per_item;
    bool normalizer, query_row;
  };
  for (const Case& c : {
           Case{false, false, 0, false, true, false},
           Case{true, false, 0, false, false, false},
           Case{true, true, 0, false, true, true},
           Case{true, false, 3, false, true, true},
           Case{false, true, 0, true, true, false},
           Case{false, true, 2, true, true, true},
       }) {
    request_["apply_softmax"] = c.softmax;
    request_["return_token_logprobs"] = c.logprobs;
    request_["top_logprobs"] = c.top;
    request_["label_token_ids"] =
        c.per_item ? json(std::vector<Ids>{{5}, {6, 7}, {8}}) : json(Ids{5, 6});
    const Prepared prepared = Prepare();
    const auto& reads = prepared.sequences[0].reads;
    ASSERT_EQ(reads.size(), c.query_row ? 4u : 3u);
    for (const RowRead& read : reads) {
      EXPECT_EQ(read.normalizer, c.normalizer);
      EXPECT_EQ(read.top_k, c.top);
    }
    EXPECT_EQ(prepared.readout.query_token_logprobs, c.logprobs && !c.per_item);
    EXPECT_EQ(reads.back().label_list, c.per_item ? 2 : 0);
  }
}

// All of them are read at the query's last row.
TEST_F(WorkedExample, EmptyItemsWhoseLogitsDoNotFitOnePassHaveSeveralSequences) {
  options_.delimiter.reset();
  request_["items"] = {Ids{}, Ids{}, Ids{}};
  limits_.max_logit_bytes = proto::ReadBytes(RowRead{6, 0, true, 0}, 2, limits_);
  const Prepared prepared = Prepare();
  ASSERT_EQ(prepared.sequences.size(), 3u);
  for (const PackedSequence& sequence : prepared.sequences) {
    EXPECT_THAT(sequence.AllTokens(), ElementsAre(11, 12, 13, 14, 15, 16, 17));
    EXPECT_THAT(sequence.reads, ElementsAre(RowRead{6, 0, true, 0}));
  }
  EXPECT_THAT(prepared.readout.item_rows, ElementsAre(0, 1, 2));
  EXPECT_EQ(prepared.readout.prompt_tokens, 7);
}

TEST_F(ScorePreparation, AnEmptyItemIsReadAtTheLastPrefixRow) {
  request_["query"] = Ids{1, 2};
  request_["items"] = {Ids{}, Ids{3, 4}, Ids{}};
  options_.delimiter = 9;
  const Prepared hidden = Prepare();
  EXPECT_THAT(hidden.sequences[0].AllTokens(), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(hidden.sequences[0].reads,
              ElementsAre(RowRead{1, 0, true, 0}, RowRead{3, 0, true, 0}, RowRead{1, 0, true, 0}));
  options_.delimiter_visibility = DelimiterVisibility::kFirst;
  const Prepared first = Prepare();
  EXPECT_THAT(first.sequences[0].AllTokens(), ElementsAre(1, 2, 9, 3, 4));
  EXPECT_THAT(first.sequences[0].reads,
              ElementsAre(RowRead{2, 0, true, 0}, RowRead{4, 0, true, 0}, RowRead{2, 0, true, 0}));
}

// Even if its token is a pad token, which transformers would skip.
TEST_F(ScorePreparation, AClassifierReadsAllClassesAtTheLastRow) {
  config_.num_labels = 3;
  request_.erase("label_token_ids");
  request_["query"] = Ids{1, 2};
  request_["items"] = {Ids{3, 0}, Ids{}};
  options_.delimiter = 9;
  for (const bool apply_softmax : {false, true}) {
    request_["apply_softmax"] = apply_softmax;
    const Prepared packed = Prepare();
    ASSERT_EQ(packed.sequences.size(), 1u);
    EXPECT_THAT(packed.sequences[0].label_lists, ElementsAre(ElementsAre(0, 1, 2)));
    EXPECT_THAT(packed.sequences[0].reads,
                ElementsAre(RowRead{3, 0, false, 0}, RowRead{1, 0, false, 0}));
    EXPECT_EQ(packed.readout.row.kind, apply_softmax ? ScoreKind::kSoftmax : ScoreKind::kLogit);
  }
  ScoreOneByOne();
  const Prepared prompts = Prepare();
  ASSERT_EQ(prompts.sequences.size(), 2u);
  EXPECT_THAT(prompts.sequences[0].label_lists, ElementsAre(ElementsAre(0, 1, 2)));
  EXPECT_THAT(prompts.sequences[0].reads, ElementsAre(RowRead{3, 0, false, 0}));
  EXPECT_THAT(prompts.sequences[1].reads, ElementsAre(RowRead{1, 0, false, 0}));
}

TEST_F(ScorePreparation, NoItemsComputeNothing) {
  request_["items"] = json::array();
  request_["query"] = Ids{1, 2};
  request_["return_token_logprobs"] = true;
  request_["top_logprobs"] = 3;
  for (const auto delimiter : {std::optional<TokenId>(), std::optional<TokenId>(9)}) {
    options_.delimiter = delimiter;
    options_.delimiter_visibility = DelimiterVisibility::kFirst;
    const Prepared prepared = Prepare();
    EXPECT_THAT(prepared.sequences, IsEmpty());
    EXPECT_EQ(prepared.readout.prompt_tokens, delimiter ? 2 : 0);
  }
}

TEST_F(ScorePreparation, BosIsAddedOnceAtTheStartOfText) {
  const FakeTokenizer tokenizer({{"<d>", 256}, {"ab", 257}}, kBos);
  request_["query"] = "xa";
  request_["items"] = {"b", ""};
  options_.delimiter = 256;
  const Prepared packed = Prepare(&tokenizer);
  EXPECT_THAT(packed.sequences[0].AllTokens(), ElementsAre(kBos, 'x', 'a', 'b'));
  EXPECT_EQ(packed.readout.prompt_tokens, 4);
  ScoreOneByOne();
  const Prepared prompts = Prepare(&tokenizer);
  EXPECT_THAT(prompts.sequences[0].AllTokens(), ElementsAre(kBos, 'x', 257))
      << "one text, one encoding";
  EXPECT_THAT(prompts.sequences[1].AllTokens(), ElementsAre(kBos, 'x', 'a'));
  EXPECT_EQ(prompts.readout.prompt_tokens, 6);
  request_["item_first"] = true;
  EXPECT_THAT(Prepare(&tokenizer).sequences[0].AllTokens(), ElementsAre(kBos, 'b', 'x', 'a'));
  request_["query"] = Ids{1};
  request_["items"] = {Ids{2}};
  EXPECT_THAT(Prepare(&tokenizer).sequences[0].AllTokens(), ElementsAre(2, 1))
      << "BOS is never added to ids";
}

TEST_F(ScorePreparation, LabelsPerItemFollowTheirItems) {
  request_["query"] = Ids{1};
  request_["items"] = {Ids{2}, Ids{3}};
  request_["label_token_ids"] = std::vector<Ids>{{7}, {8, 9}};
  EXPECT_THAT(Prepare().sequences[0].label_lists, ElementsAre(ElementsAre(7), ElementsAre(8, 9)));
  ScoreOneByOne();
  const Prepared prompts = Prepare();
  EXPECT_THAT(prompts.sequences[0].label_lists, ElementsAre(ElementsAre(7)));
  EXPECT_THAT(prompts.sequences[1].label_lists, ElementsAre(ElementsAre(8, 9)));
  options_.one_by_one = false;
  options_.delimiter = 0;
  EXPECT_THAT(Prepare().sequences[0].label_lists, ElementsAre(ElementsAre(7), ElementsAre(8, 9)));
}

TEST_F(ScorePreparation, LabelsByText) {
  const FakeTokenizer tokenizer({{" yes", 257}, {" no", 258}}, kBos);
  request_["query"] = "a";
  request_["items"] = {"b"};
  request_.erase("label_token_ids");
  request_["labels"] = {" no", " yes"};
  const Prepared prepared = Prepare(&tokenizer);
  EXPECT_THAT(prepared.sequences[0].label_lists, ElementsAre(ElementsAre(258, 257)));
}

/// The rows of every occurrence of a token are read.
class Setwise : public ScorePreparation {
 protected:
  Setwise() {
    request_["query"] = Ids{1, 2};
    request_["items"] = {Ids{9, 3, 9}, Ids{4, 9, 5}};
    request_["score_extraction_token"] = TokenId{9};
  }
};

TEST_F(Setwise, ReadsEveryOccurrencePacked) {
  for (const bool enable_mis : {false, true}) {
    options_.enable_mis = enable_mis;
    const Prepared prepared = Prepare();
    ASSERT_EQ(prepared.sequences.size(), 1u);
    EXPECT_THAT(
        prepared.sequences[0].reads,
        ElementsAre(RowRead{2, 0, true, 0}, RowRead{4, 0, true, 0}, RowRead{6, 0, true, 0}));
    EXPECT_THAT(prepared.readout.item_rows, ElementsAre(0, 2));
    EXPECT_THAT(prepared.readout.occurrences, Optional(ElementsAre(2, 1)));
    EXPECT_EQ(prepared.readout.prompt_tokens, 8);
  }
}

TEST_F(Setwise, ReadsEveryOccurrenceOneByOne) {
  ScoreOneByOne();
  request_["label_token_ids"] = std::vector<Ids>{{7}, {8, 9}};
  const Prepared prepared = Prepare();
  ASSERT_EQ(prepared.sequences.size(), 2u);
  EXPECT_THAT(prepared.sequences[0].reads,
              ElementsAre(RowRead{2, 0, true, 0}, RowRead{4, 0, true, 0}));
  EXPECT_THAT(prepared.sequences[1].reads, ElementsAre(RowRead{3, 0, true, 0}));
  EXPECT_THAT(prepared.sequences[1].label_lists, ElementsAre(ElementsAre(8, 9)));
  EXPECT_THAT(prepared.readout.occurrences, Optional(ElementsAre(2, 1)));
}

TEST_F(Setwise, AClassifierReadsAllClassesAtEveryOccurrence) {
  config_.num_labels = 3;
  request_.erase("label_token_ids");
  const Prepared prepared = Prepare();
  EXPECT_THAT(prepared.sequences[0].label_lists, ElementsAre(ElementsAre(0, 1, 2)));
  EXPECT_EQ(prepared.sequences[0].reads.size(), 3u);
}

TEST_F(Setwise, ATextIsLookedForInTheJointTokens) {
  const FakeTokenizer tokenizer({{"<e>", 256}, {"ab", 257}}, kBos);
  request_["query"] = "xa";
  request_["items"] = {"c<e>d<e>", "b<e>"};
  request_["score_extraction_token"] = "<e>";
  const Prepared prepared = Prepare(&tokenizer);
  ASSERT_EQ(prepared.sequences.size(), 2u);
  EXPECT_THAT(prepared.sequences[0].AllTokens(), ElementsAre(kBos, 'x', 257, 256));
  EXPECT_THAT(prepared.sequences[0].reads, ElementsAre(RowRead{3, 0, true, 0}));
  EXPECT_THAT(prepared.sequences[1].reads,
              ElementsAre(RowRead{4, 0, true, 0}, RowRead{6, 0, true, 0}));
  EXPECT_THAT(prepared.readout.item_rows, ElementsAre(1, 0));
  EXPECT_THAT(prepared.readout.occurrences, Optional(ElementsAre(2, 1)));
}

}  // namespace score_preparation_test
}  // namespace scorecast::coordinator

// What PrepareChunked makes of a request.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/endpoints/chunked/chunked_endpoint.h"
#include "coordinator/endpoints/chunked/chunked_readout.h"
#include "coordinator/generate/text_stream.h"
#include "tests/coordinator/endpoints/asking.h"
#include "tests/coordinator/endpoints/validation.h"
#include "tests/coordinator/fake_tokenizer.h"
#include "tests/reference/dense_mask.h"

namespace scorecast::coordinator {
namespace chunked_preparation_test {

using nlohmann::json;
using proto::BlockWeighting;
using proto::PackedSequence;
using proto::RowRead;
using proto::Segment;
using proto::SegmentKind;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Ids = std::vector<TokenId>;

constexpr TokenId kBos = 259;

/// The fake tokenizer's ids of a text without spellings.
Ids Bytes(const std::string& text) { return {text.begin(), text.end()}; }
Ids WithBos(const std::string& text) {
  Ids ids = Bytes(text);
  ids.insert(ids.begin(), kBos);
  return ids;
}

Segment Prefix(std::size_t length) {
  return {SegmentKind::kPrefix, static_cast<std::int32_t>(length), 0};
}
Segment Block(int length, int position, bool continues = false) {
  return {SegmentKind::kBlock, length, position, continues};
}
Segment Suffix(int length, int position) { return {SegmentKind::kSuffix, length, position}; }

/// The properties of one segment of a sequence.
Ids TokensOf(const PackedSequence& sequence, std::size_t segment) {
  auto begin = sequence.tokens.begin();
  for (std::size_t i = 0; i < segment; ++i) {
    begin += sequence.segments[i].length;
  }
  return {begin, begin + sequence.segments[segment].length};
}

/// A tokenizer that records what it decodes.
class RecordingTokenizer : public FakeTokenizer {
 public:
  using FakeTokenizer::FakeTokenizer;

  std::string Decode(std::span<const TokenId> ids) const override {
    decoded.emplace_back(ids.begin(), ids.end());
    return FakeTokenizer::Decode(ids);
  }

  mutable std::vector<Ids> decoded;
};

struct Prepared {
  PackedSequence sequence;
  std::vector<Generation> generations;
  ChunkedReadout readout;
};

class ChunkedPreparation : public ::testing::Test {
 protected:
  ChunkedPreparation() {
    config_.vocab_size = 300;
    config_.max_position_embeddings = 512;
    config_.eos_token_ids = {7, 8};
    options_.chunks.enable_chunk_aware = true;
    request_["label_token_ids"] = Ids{5, 6};
  }

  /// The tokens before each completion that affect how it is decoded: those that Prepare decodes.
  std::vector<Ids> DecodedContexts() {
    const RecordingTokenizer recording({}, kBos);
    TextStream(recording, {});
    const std::vector<Ids> without_context = std::exchange(recording.decoded, {});
    tokenizer_ = &recording;
    Prepare();
    tokenizer_ = &with_bos_;
    std::vector<Ids> contexts;
    for (const Ids& ids : recording.decoded) {
      if (std::find(without_context.begin(), without_context.end(), ids) == without_context.end()) {
        contexts.push_back(ids);
      }
    }
    return contexts;
  }

  /// The end of the request's completion if its tokens are `ids`, or nothing if it goes on.
  std::optional<FinishReason> EndAfter(const Ids& ids) {
    const Prepared prepared = Prepare();
    TokenChooser& chooser = *prepared.generations.front().chooser;
    for (const TokenId id : ids) {
      proto::RowLogits row;
      row.top = {{id, 0.0F}};
      if (chooser.Take(row).kind == TokenChooser::Choice::Kind::kEnd) {
        const CompletionOutput& output =
            *ValueOrFail(prepared.readout.completions.Outputs()).front();
        EXPECT_EQ(output.token_ids, ids) << "it ended too early";
        return output.finish_reason;
      }
    }
    return std::nullopt;
  }

  Prepared Prepare() {
    const PreparedRequest prepared = ValueOrFail(PrepareParsed(
        ChunkedEndpoint().FromJson(request_), {config_, tokenizer_, options_, limits_}));
    if (prepared.sequences.size() != 1) {
      ADD_FAILURE() << "a chunked request is one sequence";
      return {};
    }
    return {prepared.sequences.front(), prepared.generations,
            static_cast<const ChunkedReadout&>(*prepared.readout)};
  }

  void Structured(const std::string& system_prompt, const std::vector<std::string>& chunks,
                  const std::string& question) {
    request_["system_prompt"] = system_prompt;
    request_["chunks"] = chunks;
    request_["question"] = question;
  }

  proto::ModelConfig config_;
  ServerOptions options_;
  proto::PlanLimits limits_{
      .max_rows = 1024, .max_reads = 256, .pass_kv_rows = 4096, .kept_kv_rows = 4096};
  const FakeTokenizer with_bos_{{{"<d>", 256}, {" yes", 257}, {" no", 258}}, kBos};
  const FakeTokenizer without_bos_{{{"<d>", 256}}};
  const Tokenizer* tokenizer_ = &with_bos_;
  json request_;
};

TEST_F(ChunkedPreparation, SystemPromptThreeChunksAndAQuestion) {
  request_["system_prompt"] = Ids(10, 1);
  request_["chunks"] = {Ids(10, 2), Ids(10, 3), Ids(10, 4)};
  request_["question"] = Ids(9, 9);
  const Prepared prepared = Prepare();
  EXPECT_THAT(prepared.sequence.segments,
              ElementsAre(Prefix(10), Block(10, 10), Block(10, 10), Block(10, 10), Suffix(9, 20)));
  std::vector<std::int32_t> positions(10);
  std::iota(positions.begin(), positions.end(), 0);
  for (int i = 0; i < 30; ++i) {
    positions.push_back(10 + i % 10);
  }
  for (int i = 0; i < 9; ++i) {
    positions.push_back(20 + i);
  }
  EXPECT_EQ(reference::RowPositions(prepared.sequence.segments), positions);
  EXPECT_THAT(prepared.sequence.reads, ElementsAre(RowRead{48, 0, true, 0}));
  EXPECT_THAT(prepared.sequence.label_lists, ElementsAre(ElementsAre(5, 6)));
  EXPECT_EQ(prepared.readout.prompt_tokens, 49);
  EXPECT_EQ(prepared.readout.num_chunks, 3U);
  EXPECT_THAT(prepared.generations, IsEmpty());
  EXPECT_TRUE(prepared.sequence.block_weighting.is_plain());
}

TEST_F(ChunkedPreparation, APromptIsSplitBeforeItIsTokenized) {
  // Joined, "<" and "d>" would be one token; and the separator's bytes are nowhere.
  request_["prompt"] = "s< # # d>a< # # d> # # <d>?";
  const Prepared from_text = Prepare();
  const PackedSequence& sequence = from_text.sequence;
  EXPECT_THAT(sequence.segments, ElementsAre(Prefix(3), Block(4, 3), Block(2, 3), Suffix(2, 7)));
  EXPECT_EQ(TokensOf(sequence, 0), WithBos("s<"));
  EXPECT_EQ(TokensOf(sequence, 1), Bytes("d>a<"));
  EXPECT_EQ(TokensOf(sequence, 2), Bytes("d>"));
  EXPECT_THAT(TokensOf(sequence, 3), ElementsAre(256, '?'));
  EXPECT_EQ(from_text.readout.prompt_tokens, 11) << "each token once, with BOS";
  EXPECT_THAT(from_text.readout.questions, ElementsAre("prompt"));

  request_.erase("prompt");
  Structured("s<", {"d>a<", "d>"}, "<d>?");
  const Prepared structured = Prepare();
  EXPECT_EQ(structured.sequence.tokens, sequence.tokens);
  EXPECT_EQ(structured.sequence.segments, sequence.segments);
  EXPECT_EQ(structured.sequence.reads, sequence.reads);
  EXPECT_THAT(structured.readout.questions, ElementsAre("question"));
}

TEST_F(ChunkedPreparation, WithoutTheFlagOrTwoSeparatorsAPromptIsPlain) {
  for (const auto& [enabled, prompt] :
       {std::pair{false, "sys # # chunk # # question"}, std::pair{true, "sys # # question"},
        std::pair{true, "question"}}) {
    options_.chunks.enable_chunk_aware = enabled;
    request_["prompt"] = prompt;
    const Prepared prepared = Prepare();
    const Ids tokens = WithBos(prompt);
    EXPECT_EQ(prepared.sequence.tokens, tokens);
    EXPECT_THAT(prepared.sequence.segments, ElementsAre(Prefix(tokens.size())));
    EXPECT_THAT(prepared.sequence.reads,
                ElementsAre(RowRead{static_cast<std::int32_t>(tokens.size()) - 1, 0, true, 0}));
    EXPECT_THAT(prepared.readout.questions, ElementsAre("prompt"));
    EXPECT_EQ(prepared.readout.num_chunks, 0U);
  }
  request_["prompt"] = "";
  EXPECT_THAT(Prepare().sequence.tokens, ElementsAre(kBos));
}

TEST_F(ChunkedPreparation, AnotherSeparator) {
  options_.chunks.separator = "|";
  request_["prompt"] = "s # # |a|b|?";
  EXPECT_THAT(Prepare().sequence.segments,
              ElementsAre(Prefix(7), Block(1, 7), Block(1, 7), Suffix(1, 8)));
}

TEST_F(ChunkedPreparation, UnequalAndEmptyChunks) {
  request_["prompt"] = "s # # abc # #  # # defgh # # ?";
  EXPECT_THAT(Prepare().sequence.segments,
              ElementsAre(Prefix(2), Block(3, 2), Block(5, 2), Suffix(1, 7)));
  request_["prompt"] = "s # #  # # ?";
  EXPECT_THAT(Prepare().sequence.segments, ElementsAre(Prefix(2), Suffix(1, 2)));
}

TEST_F(ChunkedPreparation, AnEmptySystemPromptIsBosIfTheTokenizerAddsOne) {
  Structured("", {"ab"}, "?");
  EXPECT_THAT(Prepare().sequence.segments, ElementsAre(Prefix(1), Block(2, 1), Suffix(1, 3)));
  EXPECT_EQ(Prepare().sequence.tokens.front(), kBos);
  request_.erase("system_prompt");
  EXPECT_THAT(Prepare().sequence.segments, ElementsAre(Prefix(1), Block(2, 1), Suffix(1, 3)));
  tokenizer_ = &without_bos_;
  EXPECT_THAT(Prepare().sequence.segments, ElementsAre(Block(2, 0), Suffix(1, 2)));
}

TEST_F(ChunkedPreparation, NothingIsAddedToIds) {
  request_["chunks"] = {Ids{1, 2}};
  request_["question"] = Ids{3};
  const Prepared prepared = Prepare();
  EXPECT_THAT(prepared.sequence.tokens, ElementsAre(1, 2, 3));
  EXPECT_THAT(prepared.sequence.segments, ElementsAre(Block(2, 0), Suffix(1, 2)));
}

TEST_F(ChunkedPreparation, OneChunkOrNone) {
  Structured("s", {"ab"}, "?");
  EXPECT_THAT(Prepare().sequence.segments, ElementsAre(Prefix(2), Block(2, 2), Suffix(1, 4)));
  Structured("s", {}, "?");
  EXPECT_THAT(Prepare().sequence.segments, ElementsAre(Prefix(2), Suffix(1, 2)));
  request_.erase("chunks");
  EXPECT_THAT(Prepare().sequence.segments, ElementsAre(Prefix(2), Suffix(1, 2)));
}

TEST_F(ChunkedPreparation, TheRequestsPositionStrategyOverridesTheServers) {
  Structured("s", {"ab", "cde"}, "?");
  const auto shared = ElementsAre(Prefix(2), Block(2, 2), Block(3, 2), Suffix(1, 5));
  const auto offset = ElementsAre(Prefix(2), Block(2, 2), Block(3, 4), Suffix(1, 7));
  EXPECT_THAT(Prepare().sequence.segments, shared);
  request_["chunk_position_strategy"] = "offset";
  EXPECT_THAT(Prepare().sequence.segments, offset);
  options_.chunks.position_strategy = ChunkPositionStrategy::kOffset;
  request_["chunk_position_strategy"] = "shared";
  EXPECT_THAT(Prepare().sequence.segments, shared);
  request_.erase("chunk_position_strategy");
  EXPECT_THAT(Prepare().sequence.segments, offset);
}

TEST_F(ChunkedPreparation, GroupsOfChunks) {
  request_["chunk_groups"] = {2, 1};
  request_["prompt"] = "s # # ab # # cde # # f # # ?";
  EXPECT_THAT(Prepare().sequence.segments,
              ElementsAre(Prefix(2), Block(2, 2), Block(3, 4, true), Block(1, 2), Suffix(1, 7)));
  EXPECT_EQ(Prepare().readout.num_chunks, 3U);
}

TEST_F(ChunkedPreparation, TheWeightOfBlocks) {
  Structured("s", {"ab"}, "?");
  request_["chunk_temperature"] = 0.9;
  request_["chunk_scale"] = 0.25;
  EXPECT_EQ(Prepare().sequence.block_weighting, (BlockWeighting{0.9F, 0.25F}));
}

TEST_F(ChunkedPreparation, SeveralQuestionsAreSuffixesAtTheSamePosition) {
  request_["system_prompt"] = "s";
  request_["chunks"] = {"ab", "cde"};
  request_["questions"] = {"?", "why?"};
  request_["max_new_tokens"] = 4;
  const Prepared prepared = Prepare();
  EXPECT_THAT(prepared.sequence.segments,
              ElementsAre(Prefix(2), Block(2, 2), Block(3, 2), Suffix(1, 5), Suffix(4, 5)));
  EXPECT_THAT(prepared.sequence.reads,
              ElementsAre(RowRead{7, 0, true, 0}, RowRead{11, 0, true, 0}));
  EXPECT_THAT(prepared.readout.questions, ElementsAre("questions[0]", "questions[1]"));
  ASSERT_THAT(prepared.generations, SizeIs(2));
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(prepared.generations[i].sequence, 0U);
    EXPECT_EQ(prepared.generations[i].segment, 3 + i);
    EXPECT_EQ(prepared.generations[i].max_new_tokens, 4);
  }
  EXPECT_THAT(DecodedContexts(), ElementsAre(Bytes("?"), Bytes("why?")));
}

TEST_F(ChunkedPreparation, TheCompletionOfAPlainPromptHasASuffixOfItsOwn) {
  request_["prompt"] = "a plain prompt of some length";
  request_["max_new_tokens"] = 3;
  const Prepared prepared = Prepare();
  EXPECT_THAT(prepared.sequence.segments, ElementsAre(Prefix(30), Suffix(0, 30)));
  EXPECT_EQ(prepared.sequence.rows(), 30);
  ASSERT_THAT(prepared.generations, SizeIs(1));
  EXPECT_EQ(prepared.generations[0].segment, 1U);
  EXPECT_THAT(DecodedContexts(), ElementsAre(Bytes("t of some length")))
      << "the last sixteen tokens";
}

TEST_F(ChunkedPreparation, ACompletionNeedsNoLabels) {
  Structured("s", {"ab"}, "?");
  request_.erase("label_token_ids");
  request_["max_new_tokens"] = 1;
  Prepared prepared = Prepare();
  EXPECT_FALSE(prepared.readout.reads_rows);
  EXPECT_THAT(prepared.sequence.reads, IsEmpty());
  EXPECT_THAT(prepared.generations, SizeIs(1));

  request_["top_logprobs"] = 3;
  prepared = Prepare();
  EXPECT_TRUE(prepared.readout.reads_rows);
  EXPECT_FALSE(prepared.readout.row.scores);
  EXPECT_THAT(prepared.sequence.reads, ElementsAre(RowRead{4, 0, true, 3}));
  EXPECT_THAT(prepared.sequence.label_lists, ElementsAre(IsEmpty()));
}

TEST_F(ChunkedPreparation, OnlyRowsThatTheResponseNeedsAreRead) {
  Structured("s", {"ab"}, "?");
  request_.erase("label_token_ids");
  request_["labels"] = {" yes", " no"};
  request_["apply_softmax"] = true;
  request_["label_temperature"] = 0.5;
  const Prepared prepared = Prepare();
  EXPECT_THAT(prepared.sequence.reads, ElementsAre(RowRead{4, 0, false, 0}));
  EXPECT_THAT(prepared.sequence.label_lists, ElementsAre(ElementsAre(257, 258)));
  EXPECT_EQ(prepared.readout.row.temperature, 0.5);
  request_["return_token_logprobs"] = true;
  EXPECT_THAT(Prepare().sequence.reads, ElementsAre(RowRead{4, 0, true, 0}));
}

TEST_F(ChunkedPreparation, AClassifierReadsAllClassesAtTheLastRow) {
  config_.num_labels = 3;
  Structured("s", {"ab"}, "?");
  request_.erase("label_token_ids");
  request_["activation"] = "sigmoid";
  const Prepared prepared = Prepare();
  EXPECT_TRUE(prepared.readout.row.scores);
  EXPECT_EQ(prepared.readout.row.kind, ScoreKind::kSigmoid);
  EXPECT_THAT(prepared.sequence.reads, ElementsAre(RowRead{4, 0, false, 0}));
  EXPECT_THAT(prepared.sequence.label_lists, ElementsAre(ElementsAre(0, 1, 2)));
}

TEST_F(ChunkedPreparation, WhatEndsACompletion) {
  Structured("s", {"ab"}, "?");
  request_["max_new_tokens"] = 5;
  request_["stop"] = {"\n"};
  request_["stop_token_ids"] = {1, 2};
  EXPECT_EQ(Prepare().generations.front().max_new_tokens, 5);
  EXPECT_EQ(EndAfter({'a', 'b', 'c', 'd'}), std::nullopt);
  EXPECT_EQ(EndAfter({'a', 'b', 'c', 'd', 'e'}), FinishReason::kLength);
  EXPECT_EQ(EndAfter({'a', '\n'}), FinishReason::kStop);
  for (const TokenId id : {1, 2, 7, 8}) {
    EXPECT_EQ(EndAfter({id}), FinishReason::kStop) << "the model's EOS, 7 and 8, too: " << id;
  }
  request_["ignore_eos"] = true;
  EXPECT_EQ(EndAfter({7, 8}), std::nullopt);
  for (const TokenId id : {1, 2}) {
    EXPECT_EQ(EndAfter({id}), FinishReason::kStop) << id;
  }
}

TEST_F(ChunkedPreparation, HowACompletionIsSampled) {
  Structured("s", {"ab"}, "?");
  request_["max_new_tokens"] = 5;
  const auto wanted = [&] { return Prepare().generations.front().chooser->Wanted(); };
  request_.update({{"temperature", 0.5}, {"top_p", 1}, {"top_k", 3}, {"seed", 11U}});
  EXPECT_EQ(wanted().temperature, 0.5F);
  EXPECT_EQ(wanted().top_k, 3);
  request_["top_k"] = 0;
  EXPECT_EQ(wanted().draw, (proto::Draw{11, 0}));

  // The best token has 0.8 of the mass.
  request_["top_k"] = 2;
  const auto chosen = [&](std::uint64_t seed, double top_p) {
    request_["seed"] = seed;
    request_["top_p"] = top_p;
    proto::RowLogits row;
    row.max = 1;
    row.top = {{3, 1.0F}, {4, 1.0F - std::log(4.0F)}};
    return Prepare().generations.front().chooser->Take(row).token;
  };
  std::set<TokenId> of_nucleus;
  std::set<TokenId> of_all;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    of_nucleus.insert(chosen(seed, 0.75));
    of_all.insert(chosen(seed, 1));
  }
  EXPECT_THAT(of_nucleus, ElementsAre(3));
  EXPECT_THAT(of_all, ElementsAre(3, 4));
}

}  // namespace chunked_preparation_test
}  // namespace scorecast::coordinator

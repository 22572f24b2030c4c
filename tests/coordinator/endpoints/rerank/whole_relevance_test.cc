// Rerank requests to classifiers: each document is a pair with the query, as the tokenizer makes it
// or as messages, or a prompt of the rerank template that is read as a whole.

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/endpoints/rerank/rerank_endpoint.h"
#include "coordinator/endpoints/score/score_endpoint.h"
#include "tests/coordinator/endpoints/chat_server.h"
#include "tests/coordinator/endpoints/rerank/test_reranker.h"
#include "tests/coordinator/endpoints/whole_text_server.h"

namespace scorecast::coordinator {
namespace whole_relevance_test {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Ids = std::vector<TokenId>;

/// 259, the bytes, 0.
void Append(const std::string& text, Ids& ids) {
  ids.push_back(kBos);
  for (const char byte : text) {
    ids.push_back(static_cast<unsigned char>(byte));
  }
  ids.push_back(0);
}

Ids Pair(const std::string& query, const std::string& document) {
  Ids ids;
  Append(query, ids);
  Append(document, ids);
  return ids;
}

json Body(const std::string& query, const std::vector<std::string>& documents,
          const json& more = json::object()) {
  json body = {{"query", query}, {"documents", documents}};
  body.update(more);
  return body;
}

std::vector<Ids> TokensOf(const PreparedRequest& prepared) {
  std::vector<Ids> tokens;
  for (const proto::PackedSequence& sequence : prepared.sequences) {
    tokens.push_back(sequence.tokens);
  }
  return tokens;
}

TEST(PairRelevance, EachDocumentIsASequenceWithTheQuery) {
  const PairServer server;
  const PreparedRequest prepared = server.Prepared(RerankEndpoint(), Body("q", {"ab", "", "c"}));
  ASSERT_EQ(TokensOf(prepared), (std::vector<Ids>{Pair("q", "ab"), Pair("q", ""), Pair("q", "c")}));
  const proto::PackedSequence& first = prepared.sequences[0];
  EXPECT_THAT(first.token_types, ElementsAre(0, 0, 0, 1, 1, 1, 1));
  EXPECT_THAT(first.segments, ElementsAre(proto::Segment{proto::SegmentKind::kPrefix, 7, 0}));
  EXPECT_THAT(first.reads, ElementsAre(proto::RowRead{.row = 6, .first_row = 0}));
  EXPECT_EQ(prepared.readout->prompt_tokens, 7 + 5 + 6) << "with special tokens";
}

TEST(PairRelevance, AModelWithoutATableOfTypesGetsNone) {
  PairServer server;
  server.config_.type_vocab_size = 1;
  EXPECT_THAT(server.Prepared(RerankEndpoint(), Body("q", {"a"})).sequences[0].token_types,
              IsEmpty());
}

TEST(PairRelevance, ResultsAreOrderedAndHaveTheModelsActivation) {
  PairServer server;
  const json body = Body("q", {"a", "zzz", "mm"});
  const auto score = [](const std::string& document) {
    double sum = 0;
    for (const TokenId id : Pair("q", document)) {
      sum += id;
    }
    return sum / 1000;
  };
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  const OrderedJson response = server.Respond(RerankEndpoint(), body);
  ASSERT_EQ(response["results"].size(), 3U);
  EXPECT_EQ(response["results"][0]["index"], 1);
  EXPECT_EQ(response["results"][1]["index"], 2);
  EXPECT_NEAR(response["results"][2]["relevance_score"], sigmoid(score("a")), 1e-6);
  EXPECT_EQ(response["usage"]["prompt_tokens"], 6 + 8 + 7);
  EXPECT_NEAR(
      server.Respond(RerankEndpoint(),
                     Body("q", {"a"}, {{"raw_scores", true}}))["results"][0]["relevance_score"],
      score("a"), 1e-6);
  // ms-marco models: the identity, but for text-embeddings-inference's clients the sigmoid.
  server.SetFormula("true");
  EXPECT_NEAR(server.Respond(RerankEndpoint(), Body("q", {"a"}))["results"][0]["relevance_score"],
              score("a"), 1e-6);
  const json tei = {{"query", "q"}, {"texts", {"a"}}};
  EXPECT_NEAR(server.Respond(RerankEndpoint(), tei)[0]["score"], sigmoid(score("a")), 1e-6);
  json raw = tei;
  raw["raw_scores"] = true;
  EXPECT_NEAR(server.Respond(RerankEndpoint(), raw)[0]["score"], score("a"), 1e-6);
}

TEST(PairRelevance, PairsAreCutToTheModelsLimit) {
  PairServer server;
  server.options_.max_text_tokens = 10;  // Six of them are of the texts.
  const auto cut = [&](const json& more) {
    return TokensOf(server.Prepared(RerankEndpoint(), Body("abcd", {"stuvwxyz"}, more)))[0];
  };
  EXPECT_EQ(cut(json::object()), Pair("abc", "stu"));
  EXPECT_EQ(cut({{"truncation_direction", "left"}}), Pair("bcd", "xyz"));
  EXPECT_EQ(cut({{"truncation_strategy", "only_second"}}), Pair("abcd", "st"));
  EXPECT_EQ(cut({{"truncation_strategy", "only_second"}, {"truncation_direction", "left"}}),
            Pair("abcd", "yz"));
  EXPECT_EQ(cut({{"truncate_prompt_tokens", 8}}), Pair("ab", "st"));
  EXPECT_EQ(cut({{"truncate_prompt_tokens", 100}}), Pair("abc", "stu"));
  EXPECT_EQ(cut({{"max_tokens_per_doc", 2}}), Pair("abcd", "st"));
  EXPECT_EQ(cut({{"max_tokens_per_doc", 2}, {"truncation_direction", "left"}}), Pair("abcd", "yz"));
  EXPECT_EQ(cut({{"max_tokens_per_query", 1}}), Pair("a", "stuvw"));
  EXPECT_EQ(cut({{"max_tokens_per_query", 1}, {"max_tokens_per_doc", 1}}), Pair("a", "s"));
  EXPECT_EQ(cut({{"max_tokens_per_query", -1}}), Pair("abc", "stu"));
}

TEST(PairRelevance, AModelMaySayWhichEndIsCut) {
  PairServer server;
  server.options_.max_text_tokens = 10;
  server.with_bos_.SetRules({.truncation_side = TruncationSide::kLeft});
  const auto cut = [&](const json& more) {
    return TokensOf(server.Prepared(RerankEndpoint(), Body("abcd", {"stuvwxyz"}, more)))[0];
  };
  EXPECT_EQ(cut(json::object()), Pair("bcd", "xyz"));
  EXPECT_EQ(cut({{"truncation_direction", "right"}}), Pair("abc", "stu"));
  EXPECT_EQ(cut({{"max_tokens_per_doc", 2}}), Pair("abcd", "yz"));
  EXPECT_EQ(server.FaultOf(RerankEndpoint(), Body("a", {"b"}, {{"truncation_direction", ""}})),
            "400 unknown_truncation_direction truncation_direction");
}

TEST(PairRelevance, ATokenizerMayGiveNoTypes) {
  PairServer server;
  server.with_bos_.SetRules({.gives_token_types = false});
  EXPECT_THAT(server.Prepared(RerankEndpoint(), Body("q", {"a"})).sequences[0].token_types,
              IsEmpty());
}

TEST(PairRelevance, WhatMayNotBeCutIsRefused) {
  PairServer server;
  server.options_.max_text_tokens = 10;
  const auto fault = [&](const json& more) {
    return server.FaultOf(RerankEndpoint(), Body("abcd", {"st", "stuvwxyz"}, more));
  };
  EXPECT_EQ(fault({{"truncate", false}}), "413 document_too_long documents[1]");
  EXPECT_EQ(fault({{"truncate", false}, {"max_tokens_per_doc", 1}}),
            "413 document_too_long documents[0]");
  EXPECT_EQ(server.FaultOf(RerankEndpoint(), {{"query", "abcd"}, {"texts", {"stuvwxyz"}}}),
            "413 document_too_long texts[0]")
      << "text-embeddings-inference cuts only if it is told to";
  const json no_room = {{"truncation_strategy", "only_second"}, {"truncate_prompt_tokens", 8}};
  EXPECT_EQ(fault(no_room), "400 query_too_long query");
  EXPECT_EQ(fault({{"truncate_prompt_tokens", 3}}), "400 query_too_long query");
  EXPECT_EQ(fault({{"truncation_strategy", "middle"}}),
            "400 unknown_truncation_strategy truncation_strategy");
  EXPECT_EQ(fault({{"max_tokens_per_query", -2}}),
            "400 max_tokens_per_query_out_of_range max_tokens_per_query");
  const auto refused =
      server.Prepare(RerankEndpoint(), Body("abcd", {"stuvwxyz"}, {{"truncate", false}}));
  EXPECT_THAT(refused.error().message, HasSubstr("16 tokens, of which 10 are allowed"));
  // The tokenizer has a token that the model lacks.
  EXPECT_EQ(server.FaultOf(RerankEndpoint(), Body("q", {"<x>"})),
            "400 token_out_of_vocabulary documents[0]");
}

TEST(PairRelevance, TheDirectorysPromptIsPutBeforeTheQuery) {
  PairServer server;
  server.SetFormula("true", "find: ");
  EXPECT_EQ(TokensOf(server.Prepared(RerankEndpoint(), Body("q", {"a"})))[0], Pair("find: q", "a"));
  EXPECT_EQ(
      TokensOf(server.Prepared(RerankEndpoint(), Body("q", {"a"}, {{"instruction", "why: "}})))[0],
      Pair("why: q", "a"));
  server.SetFormula("true");
  EXPECT_EQ(
      TokensOf(server.Prepared(RerankEndpoint(), Body("q", {"a"}, {{"instruction", "why: "}})))[0],
      Pair("q", "a"))
      << "ignored, as by templates without a place for it";
}

TEST(PairRelevance, PairScoresAreThoseOfTheirPairs) {
  const PairServer server;
  const PreparedRequest prepared =
      server.Prepared(ScoreEndpoint(), {{"text_1", {"q", "r", "q"}}, {"text_2", {"a", "b", "c"}}});
  // Equal queries are one. The rows are found again in the request's order.
  EXPECT_EQ(TokensOf(prepared), (std::vector<Ids>{Pair("q", "a"), Pair("q", "c"), Pair("r", "b")}));
  const OrderedJson response = server.Respond(
      ScoreEndpoint(),
      {{"text_1", {"q", "r", "q"}}, {"text_2", {"a", "b", "c"}}, {"use_activation", false}});
  ASSERT_EQ(response["data"].size(), 3U);
  EXPECT_NEAR(response["data"][1]["score"], PairServer::LogitOf(prepared.sequences[2]), 1e-6);
  EXPECT_NEAR(response["data"][2]["score"], PairServer::LogitOf(prepared.sequences[1]), 1e-6);
}

TEST(PromptRelevance, APromptIsOneText) {
  PairServer server;
  server.options_.reranker = MakeReranker(R"(
      prompt: "q:{query} p:{document}!"
      true: 0
      score: sigmoid(true)
      )",
                                          *server.tokenizer_, {0});
  const auto tokens = [&](const json& more) {
    return TokensOf(server.Prepared(RerankEndpoint(), Body("ab", {"xyz", ""}, more)));
  };
  const auto text = [](const std::string& prompt) {
    Ids ids;
    Append(prompt, ids);
    return ids;
  };
  EXPECT_EQ(tokens(json::object()), (std::vector<Ids>{text("q:ab p:xyz!"), text("q:ab p:!")}));
  EXPECT_EQ(tokens({{"truncate_prompt_tokens", 10}}),
            (std::vector<Ids>{text("q:ab p:x"), text("q:ab p:!")}))
      << "the prompt is cut, not the document";
  EXPECT_EQ(tokens({{"truncate_prompt_tokens", 10}, {"truncation_direction", "left"}})[0],
            text("b p:xyz!"));
  EXPECT_EQ(tokens({{"max_tokens_per_doc", 1}, {"max_tokens_per_query", 1}})[0], text("q:a p:x!"));
  EXPECT_EQ(
      server.FaultOf(RerankEndpoint(),
                     Body("ab", {"xyz"}, {{"truncate", false}, {"truncate_prompt_tokens", 5}})),
      "413 document_too_long documents[0]");
}

Ids Bytes(const std::string& text) {
  Ids ids;
  for (const char byte : text) {
    ids.push_back(static_cast<unsigned char>(byte));
  }
  return ids;
}

/// A reranker whose texts are messages.
std::shared_ptr<const Reranker> MessageReranker(const Tokenizer& tokenizer,
                                                const std::string& instruction = "") {
  return std::make_shared<const Reranker>(Reranker::Parts{.name = "chat",
                                                          .reason = "a test",
                                                          .default_instruction = instruction,
                                                          .prompt = std::nullopt,
                                                          .messages = MakeMessages(tokenizer),
                                                          .labels = proto::LabelList{0},
                                                          .formula = ScoreFormula::OfHead()});
}

TEST(MessageRelevance, QueryAndDocumentAreMessages) {
  PairServer server;
  server.options_.reranker = MessageReranker(*server.tokenizer_);
  const auto tokens = [&](const json& more) {
    return TokensOf(server.Prepared(RerankEndpoint(), Body("qr", {"ab", ""}, more)));
  };
  EXPECT_EQ(tokens(json::object()),
            (std::vector<Ids>{Bytes("[query:qr][document:ab]"), Bytes("[query:qr][document:]")}));
  EXPECT_EQ(tokens({{"instruction", "why"}})[0], Bytes("[system:why][query:qr][document:ab]"));
  EXPECT_EQ(tokens({{"truncate_prompt_tokens", 22}})[0], Bytes("[query:qr][document:a]"))
      << "the template's end is written back";
  EXPECT_EQ(tokens({{"max_tokens_per_query", 1}, {"max_tokens_per_doc", 1}})[0],
            Bytes("[query:q][document:a]"));
  EXPECT_THAT(server.Prepared(RerankEndpoint(), Body("q", {"a"})).sequences[0].token_types,
              IsEmpty());
  server.options_.reranker = MessageReranker(*server.tokenizer_, "default");
  EXPECT_EQ(tokens(json::object())[0], Bytes("[system:default][query:qr][document:ab]"));
}

TEST(MessageRelevance, FaultsAreNamed) {
  PairServer server;
  server.options_.reranker = MessageReranker(*server.tokenizer_);
  EXPECT_EQ(
      server.FaultOf(RerankEndpoint(), Body("q", {"a"}, {{"truncation_strategy", "only_second"}})),
      "400 not_supported truncation_strategy");
  EXPECT_EQ(server.FaultOf(RerankEndpoint(),
                           Body("q", {"a"}, {{"truncation_strategy", "longest_first"}})),
            "none");
  EXPECT_EQ(
      server.FaultOf(RerankEndpoint(), Body("q", {std::string(100, 'a')}, {{"truncate", false}})),
      "413 document_too_long documents[0]");
}

TEST(MessageRelevance, ItemsAreMessagesIfAllTextsAre) {
  PairServer server;
  const json body = {{"query", "q"}, {"items", {"a", "b"}}};
  EXPECT_EQ(TokensOf(server.Prepared(ScoreEndpoint(), body))[0], Pair("q", "a"));
  server.options_.messages = MakeMessages(*server.tokenizer_);
  EXPECT_EQ(TokensOf(server.Prepared(ScoreEndpoint(), body)),
            (std::vector<Ids>{Bytes("[query:q][document:a]"), Bytes("[query:q][document:b]")}));
  server.options_.messages = MakeMessages(*server.tokenizer_, "{{ messages[0].content }}");
  EXPECT_EQ(server.FaultOf(ScoreEndpoint(), body), "400 not_rendered items[0]");
}

/// A decoder with one class. Its tokenizer puts 259 before and 0 behind each text.
struct DecoderServer : CheckingServer {
  explicit DecoderServer(std::shared_ptr<const TextMessages> messages = nullptr,
                         std::int64_t max_pair_tokens = 64) {
    config_.architecture = "Qwen3ForSequenceClassification";
    config_.num_labels = 1;
    options_.reranker =
        std::make_shared<const Reranker>(Reranker::Parts{.name = std::string(kPairTemplate),
                                                         .reason = "a test",
                                                         .prompt = std::nullopt,
                                                         .messages = std::move(messages),
                                                         .max_pair_tokens = max_pair_tokens,
                                                         .labels = proto::LabelList{0},
                                                         .formula = ScoreFormula::OfHead()});
  }

  PreparedRequest Prepared(const json& body) const {
    SCOPED_TRACE(body);
    return ValueOrFail(PrepareBody(RerankEndpoint(), body.dump(), context()));
  }
};

std::vector<std::int32_t> RowsOf(const proto::PackedSequence& sequence) {
  std::vector<std::int32_t> rows;
  for (const proto::RowRead& read : sequence.reads) {
    EXPECT_FALSE(read.is_pooled());
    rows.push_back(read.row);
  }
  return rows;
}

TEST(DecoderRelevance, PairsAreBlocksBehindTheQuery) {
  const DecoderServer server;
  const PreparedRequest prepared = server.Prepared(Body("q", {"ab", "", "c"}));
  ASSERT_EQ(prepared.sequences.size(), 1U);
  const proto::PackedSequence& sequence = prepared.sequences[0];
  EXPECT_THAT(sequence.AllTokens(), ElementsAre(kBos, 'q', 0, kBos, 'a', 'b', 0, 0, 'c', 0));
  EXPECT_THAT(RowsOf(sequence), ElementsAre(6, 7, 9));
  EXPECT_THAT(sequence.label_lists, ElementsAre(proto::LabelList{0}));
  EXPECT_EQ(prepared.readout->prompt_tokens, 10) << "the query counts once";
}

TEST(DecoderRelevance, APairWhoseQueryIsCutStandsAlone) {
  const DecoderServer server(nullptr, /*max_pair_tokens=*/10);
  const PreparedRequest prepared = server.Prepared(Body("abcd", {"stuvwxyz", "s"}));
  ASSERT_EQ(prepared.sequences.size(), 2U);
  EXPECT_EQ(prepared.sequences[0].AllTokens(), Pair("abc", "stu"));
  EXPECT_EQ(prepared.sequences[1].AllTokens(), Pair("abcd", "s"));
  EXPECT_THAT(RowsOf(prepared.sequences[0]), ElementsAre(9));
  EXPECT_EQ(server.Prepared(Body("abcd", {"stuvwxyz"}, {{"truncation_strategy", "only_second"}}))
                .sequences[0]
                .AllTokens(),
            Pair("abcd", "st"));
}

TEST(DecoderRelevance, MessagesAreBlocksBehindWhatTheyBeginWith) {
  const FakeTokenizer tokenizer({});
  const DecoderServer server(MakeMessages(tokenizer));
  const PreparedRequest prepared = server.Prepared(Body("q", {"ab", "c"}, {{"instruction", "i"}}));
  ASSERT_EQ(prepared.sequences.size(), 1U);
  EXPECT_EQ(prepared.sequences[0].AllTokens(), Bytes("[system:i][query:q][document:ab]c]"));
  EXPECT_THAT(RowsOf(prepared.sequences[0]), ElementsAre(31, 33));
  // The last document is cut, and the template's end is written back.
  const PreparedRequest cut = server.Prepared(Body("q", {"abc"}, {{"truncate_prompt_tokens", 22}}));
  EXPECT_EQ(cut.sequences[0].AllTokens(), Bytes("[query:q][document:ab]"));
}

}  // namespace whole_relevance_test
}  // namespace scorecast::coordinator

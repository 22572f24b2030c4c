// Rerank requests to classifiers that read whole texts: each document is a pair with the query, or
// a prompt of the rerank template.

#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/endpoints/rerank/rerank_endpoint.h"
#include "coordinator/endpoints/score/score_endpoint.h"
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

}  // namespace whole_relevance_test
}  // namespace scorecast::coordinator

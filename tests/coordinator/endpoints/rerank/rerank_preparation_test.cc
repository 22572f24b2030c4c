// How queries and documents become sequences, and which requests are refused.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/endpoints/rerank/rerank_endpoint.h"
#include "coordinator/endpoints/rerank/rerank_readout.h"
#include "coordinator/endpoints/score/score_endpoint.h"
#include "proto/http_responses.pb.h"
#include "tests/coordinator/endpoints/asking.h"
#include "tests/coordinator/endpoints/rerank/test_reranker.h"
#include "tests/coordinator/endpoints/validation.h"

namespace scorecast::coordinator {
namespace rerank_preparation_test {

using nlohmann::json;
using proto::PackedSequence;
using proto::RowRead;
using proto::Segment;
using proto::SegmentKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Ids = std::vector<TokenId>;

constexpr TokenId kMerged = 261;  // "-x", where '-' is the template's and 'x' the document's.

/// BOS and the bytes of a text, in which "-x" is one token.
Ids Bytes(const std::string& text) {
  Ids ids;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_merged = text.compare(i, 2, "-x") == 0;
    ids.push_back(is_merged ? kMerged : static_cast<unsigned char>(text[i]));
    i += is_merged ? 1 : 0;
  }
  return ids;
}

Ids FromStart(const std::string& text) {
  Ids ids = Bytes(text);
  ids.insert(ids.begin(), kBos);
  return ids;
}

struct RerankServer : CheckingServer {
  RerankServer() {
    options_.reranker = MakeReranker(R"(
        instruction: "why"
        prompt: "{instruction}:{query}-{document}?"
        true: "y"
        false: "n"
        score: sigmoid(true - false)
        )",
                                     merging_, {'y', 'n'});
  }

  proto::Expected<PreparedRequest> Prepare(const std::string& body) const {
    return PrepareBody(RerankEndpoint(), body, context());
  }
  PreparedRequest Prepared(const json& body) const {
    SCOPED_TRACE(body);
    return ValueOrFail(Prepare(body.dump()));
  }

  const FakeTokenizer merging_{{{"-x", kMerged}}, kBos};
};

/// One that puts the document first.
struct DocumentFirstServer : RerankServer {
  DocumentFirstServer() {
    options_.reranker = MakeReranker(R"(
        prompt: "D{document}Q{query}?"
        true: 7
        score: true
        )",
                                     merging_, {7});
  }
};

const RerankReadout& ReadoutOf(const PreparedRequest& prepared) {
  return static_cast<const RerankReadout&>(*prepared.readout);
}

/// The read row of each document: its sequence and its row.
std::vector<std::pair<std::size_t, std::int32_t>> RowsOf(const PreparedRequest& prepared) {
  std::vector<std::pair<std::size_t, std::int32_t>> rows;
  for (const RelevanceReadout::Row& row : ReadoutOf(prepared).relevance.rows) {
    rows.emplace_back(row.sequence, prepared.sequences[row.sequence].reads[row.read].row);
  }
  return rows;
}

TEST(RerankPreparation, ALongQueryIsCutIfTheRequestSaysSo) {
  const RerankServer server;
  const auto tokens = [&](const json& more) {
    json body = {{"query", "qé"}, {"documents", {"a"}}};
    body.update(more);
    return server.Prepared(body).sequences[0].AllTokens();
  };
  Ids cut = FromStart("why:q-a?");
  EXPECT_EQ(tokens({{"max_tokens_per_query", 1}}), cut);
  EXPECT_EQ(tokens({{"max_tokens_per_query", 2}}), cut) << "half a character is left out";
  EXPECT_EQ(tokens({{"max_tokens_per_query", 3}}), FromStart("why:qé-a?"));
  EXPECT_EQ(tokens({{"max_tokens_per_query", 0}}), FromStart("why:qé-a?"));
}

TEST(RerankPreparation, OnlyDocumentsAreCutOtherwise) {
  const RerankServer server;
  const auto with = [&](const std::string& strategy) {
    const json body = {{"query", "q"}, {"documents", {"a"}}, {"truncation_strategy", strategy}};
    const auto prepared = server.Prepare(body.dump());
    return prepared ? "none" : prepared.error().reason + " " + prepared.error().param;
  };
  EXPECT_EQ(with("only_second"), "none");
  EXPECT_EQ(with("longest_first"), "not_supported truncation_strategy");
  EXPECT_EQ(with("none"), "unknown_truncation_strategy truncation_strategy");
}

TEST(RerankPreparation, DocumentsAreBlocksBehindTheQuery) {
  const RerankServer server;
  const PreparedRequest prepared =
      server.Prepared({{"query", "q"}, {"documents", {"ab", "", "c"}}});
  ASSERT_EQ(prepared.sequences.size(), 1U);
  const PackedSequence& sequence = prepared.sequences[0];
  Ids tokens = FromStart("why:q-");
  for (const TokenId id : Bytes("ab??c?")) {
    tokens.push_back(id);
  }
  EXPECT_EQ(sequence.AllTokens(), tokens);
  EXPECT_THAT(sequence.segments,
              ElementsAre(Segment{SegmentKind::kPrefix, 7, 0}, Segment{SegmentKind::kBlock, 3, 7},
                          Segment{SegmentKind::kBlock, 1, 7}, Segment{SegmentKind::kBlock, 2, 7}));
  EXPECT_THAT(sequence.reads, ElementsAre(RowRead{9, 0, false, 0}, RowRead{10, 0, false, 0},
                                          RowRead{12, 0, false, 0}));
  EXPECT_THAT(sequence.label_lists, ElementsAre(ElementsAre('y', 'n')));
  EXPECT_EQ(prepared.readout->prompt_tokens, 13);
  EXPECT_EQ(prepared.readout->Summary(), "3 documents");
}

TEST(RerankPreparation, ADocumentThatMergesWithThePrefixStandsAlone) {
  const RerankServer server;
  const PreparedRequest prepared =
      server.Prepared({{"query", "q"}, {"documents", {"a", "xb", "c"}}});
  ASSERT_EQ(prepared.sequences.size(), 2U);
  EXPECT_EQ(prepared.sequences[0].AllTokens(), FromStart("why:q-xb?"));
  EXPECT_THAT(prepared.sequences[0].segments, ElementsAre(Segment{SegmentKind::kPrefix, 9, 0}));
  EXPECT_EQ(prepared.sequences[0].shared.count, 6U) << "the query's tokens are not held twice";
  EXPECT_EQ(prepared.sequences[1].segments.size(), 3U);
  EXPECT_THAT(RowsOf(prepared), ElementsAre(std::pair(1U, 8), std::pair(0U, 8), std::pair(1U, 10)));
  EXPECT_EQ(prepared.readout->prompt_tokens, 9 + 11);
}

TEST(RerankPreparation, AnInstructionReplacesTheTemplates) {
  const RerankServer server;
  const PreparedRequest prepared =
      server.Prepared({{"query", "q"}, {"documents", {"a"}}, {"instruction", "now"}});
  EXPECT_EQ(prepared.sequences[0].AllTokens(), FromStart("now:q-a?"));
}

TEST(RerankPreparation, TextsAreNeverControlTokens) {
  const RerankServer server;
  const PreparedRequest prepared =
      server.Prepared({{"query", "{document}"}, {"documents", {"{query}"}}});
  EXPECT_EQ(prepared.sequences[0].AllTokens(), FromStart("why:{document}-{query}?"));
}

TEST(RerankPreparation, WithoutDocumentsNothingIsComputed) {
  const RerankServer server;
  for (const char* field : {"documents", "texts"}) {
    const PreparedRequest prepared = server.Prepared({{"query", "q"}, {field, json::array()}});
    EXPECT_THAT(prepared.sequences, IsEmpty());
    EXPECT_EQ(prepared.readout->prompt_tokens, 0);
  }
}

TEST(RerankPreparation, DocumentsOfADocumentFirstTemplateHaveSequencesOfTheirOwn) {
  const DocumentFirstServer server;
  const PreparedRequest prepared =
      server.Prepared({{"query", "query"}, {"documents", {"ab", "c"}}});
  ASSERT_EQ(prepared.sequences.size(), 2U);
  EXPECT_EQ(prepared.sequences[0].AllTokens(), FromStart("DabQquery?"));
  EXPECT_EQ(prepared.sequences[1].AllTokens(), FromStart("DcQquery?"));
  EXPECT_THAT(RowsOf(prepared), ElementsAre(std::pair(0U, 10), std::pair(1U, 9)));
  EXPECT_GE(prepared.sequences[1].shared.count, 7U) << "the query is not held twice";
  EXPECT_EQ(prepared.sequences[0].shared.list, prepared.sequences[1].shared.list);
  EXPECT_EQ(prepared.readout->prompt_tokens, 21);
}

TEST(RerankPreparation, LongDocumentsAreCutAndTheRestIsNot) {
  RerankServer server;  // 64 positions, of which the template and the query take 8.
  const std::string letters(100, 'a');
  const auto tokens = [&](json body, const json& fields) {
    body.update(fields);
    return server.Prepared(body).sequences.at(0).AllTokens();
  };
  const json body = {{"query", "q"}, {"documents", {letters + "b"}}};
  const auto expected = [](const std::string& document) {
    return FromStart("why:q-" + document + "?");
  };
  EXPECT_EQ(tokens(body, json::object()), expected(letters.substr(0, 56)));
  EXPECT_EQ(tokens(body, {{"truncation_direction", "Left"}}),
            expected(letters.substr(0, 55) + "b"));
  EXPECT_EQ(tokens(body, {{"truncation_side", "left"}}), expected(letters.substr(0, 55) + "b"));
  EXPECT_EQ(tokens(body, {{"max_tokens_per_doc", 3}}), expected("aaa"));
  EXPECT_EQ(tokens(body, {{"max_tokens_per_doc", 0}}), expected(letters.substr(0, 56)));
  EXPECT_EQ(tokens(body, {{"truncate_prompt_tokens", 12}}), expected("aaaa"));
  EXPECT_EQ(tokens(body, {{"truncate_prompt_tokens", 8}}), expected(""));
  EXPECT_EQ(tokens(body, {{"truncate_prompt_tokens", -1}}), expected(letters.substr(0, 56)));
  EXPECT_EQ(tokens(body, {{"truncate_prompt_tokens", 12}, {"max_tokens_per_doc", 2}}),
            expected("aa"));
  server.with_bos_.SetRules({.truncation_side = TruncationSide::kLeft});
  EXPECT_EQ(tokens(body, json::object()), expected(letters.substr(0, 55) + "b"));
  EXPECT_EQ(tokens(body, {{"truncation_side", "right"}}), expected(letters.substr(0, 56)));
}

TEST(RerankPreparation, ThousandsOfDocumentsAreOneSequence) {
  const RerankServer server;
  const std::vector<std::string> documents(20000, "some text");
  const PreparedRequest prepared = server.Prepared({{"query", "q"}, {"documents", documents}});
  ASSERT_EQ(prepared.sequences.size(), 1U);
  EXPECT_EQ(prepared.sequences[0].reads.size(), documents.size());
  EXPECT_EQ(prepared.readout->prompt_tokens, 7 + 20000 * 10);
}

// A pass computes 16 rows, of which 7 are the prefix's, and no K/V outlives it.
constexpr proto::PlanLimits kOnePass = {
    .max_rows = 16, .max_reads = 16, .pass_kv_rows = 256, .kept_kv_rows = 0};

TEST(RerankPreparation, DocumentsThatNeverFitOneSequenceHaveSeveralWithTheSamePrefix) {
  RerankServer server;
  server.limits_ = kOnePass;
  const json body = {{"query", "q"}, {"documents", {"aaaa", "b", "xc", "dddddd", ""}}};
  const PreparedRequest prepared = server.Prepared(body);
  ASSERT_EQ(prepared.sequences.size(), 3U);
  EXPECT_EQ(prepared.sequences[0].AllTokens(), FromStart("why:q-xc?")) << "merges with the prefix";
  const auto behind_prefix = [](const std::string& blocks) { return FromStart("why:q-" + blocks); };
  EXPECT_EQ(prepared.sequences[1].AllTokens(), behind_prefix("aaaa?b?"));
  EXPECT_EQ(prepared.sequences[2].AllTokens(), behind_prefix("dddddd??"));
  EXPECT_THAT(prepared.sequences[2].segments,
              ElementsAre(Segment{SegmentKind::kPrefix, 7, 0}, Segment{SegmentKind::kBlock, 7, 7},
                          Segment{SegmentKind::kBlock, 1, 7}));
  EXPECT_THAT(RowsOf(prepared), ElementsAre(std::pair(1U, 11), std::pair(1U, 13), std::pair(0U, 8),
                                            std::pair(2U, 13), std::pair(2U, 14)));
  EXPECT_EQ(prepared.sequences[1].shared.list, prepared.sequences[2].shared.list);
  for (const PackedSequence& sequence : prepared.sequences) {
    EXPECT_THAT(sequence.label_lists, ElementsAre(ElementsAre('y', 'n')));
  }
  EXPECT_EQ(prepared.readout->prompt_tokens, 9 + 7 + 5 + 2 + 7 + 1) << "the prefix counts once";
}

TEST(RerankPreparation, EachQueryOfPairsIsDividedByItself) {
  RerankServer server;
  server.limits_ = kOnePass;
  const PreparedRequest prepared = ValueOrFail(PrepareBody(
      ScoreEndpoint(), R"({"queries":["q","r","q"],"documents":["aaaa","bbbb","cccc"]})",
      server.context()));
  ASSERT_EQ(prepared.sequences.size(), 3U);
  EXPECT_EQ(prepared.sequences[0].AllTokens(), FromStart("why:q-aaaa?"));
  EXPECT_EQ(prepared.sequences[1].AllTokens(), FromStart("why:q-cccc?"));
  EXPECT_EQ(prepared.sequences[2].AllTokens(), FromStart("why:r-bbbb?"));
  EXPECT_EQ(prepared.readout->prompt_tokens, 7 + 5 + 5 + 7 + 5);
}

TEST(RerankPreparation, TheServersFormDecidesUnlessTheRequestDoes) {
  RerankServer server;
  const auto form = [&](const json& body) { return ReadoutOf(server.Prepared(body)).description; };
  const json documents = {{"query", "q"}, {"documents", {"a"}}};
  const json texts = {{"query", "q"}, {"texts", {"a"}}};
  EXPECT_EQ(form(documents), v1::CohereRerankResponse::descriptor());
  EXPECT_FALSE(ReadoutOf(server.Prepared(documents)).returns_documents);
  EXPECT_EQ(form(texts), v1::TeiRerankResponse::descriptor());
  server.options_.rerank_form = RerankForm::kSglang;
  EXPECT_EQ(form(documents), v1::SglangRerankResponse::descriptor());
  EXPECT_TRUE(ReadoutOf(server.Prepared(documents)).returns_documents) << "SGLang's default";
  EXPECT_EQ(form(texts), v1::TeiRerankResponse::descriptor());
  EXPECT_FALSE(ReadoutOf(server.Prepared(texts)).returns_documents);
}

class RerankValidation : public ValidationTest<RerankServer> {
 protected:
  void ExpectRefused(const json& fields, const std::string& reason, const std::string& param,
                     const std::string& message = "") const {
    json body = {{"query", "q"}, {"documents", {"a", "b"}}};
    body.update(fields);
    ValidationTest::ExpectRefused(server_, body.dump(), reason, param, message);
  }

  RerankServer server_;
};

TEST_F(RerankValidation, OfFields) {
  ExpectRefused({{"top_n", -1}}, "top_n_out_of_range", "top_n", "-1");
  ExpectRefused({{"priority", 1000}}, "priority_out_of_range", "priority",
                "priority must be from -10 to 999, not 1000.");
  ExpectRefused({{"priority", -11}}, "priority_out_of_range", "priority", "from -10 to 10");
  ExpectRefused({{"max_tokens_per_doc", -1}}, "max_tokens_per_doc_out_of_range",
                "max_tokens_per_doc");
  ExpectRefused({{"truncate_prompt_tokens", 0}}, "truncate_prompt_tokens_out_of_range",
                "truncate_prompt_tokens");
  ExpectRefused({{"truncate_prompt_tokens", -2}}, "truncate_prompt_tokens_out_of_range",
                "truncate_prompt_tokens");
  ExpectRefused({{"truncation_direction", "up"}}, "unknown_truncation_direction",
                "truncation_direction", "up");
  ExpectRefused({{"timeout_ms", 0}}, "timeout_out_of_range", "timeout_ms");
  ExpectRefused({{"priority", -11}}, "priority_out_of_range", "priority", "-11");
  ExpectRefused({{"priority", 1000}}, "priority_out_of_range", "priority", "1000");
}

TEST_F(RerankValidation, OfTextsThatAreTooLong) {
  const std::string letters(100, 'a');
  const json texts = {{"query", "q"}, {"texts", {"a", letters}}};
  ValidationTest::ExpectRefused(server_, texts.dump(), "document_too_long", "texts[1]",
                                "more than 64 tokens");
  json cut = texts;
  cut["truncate"] = true;
  ValidationTest::ExpectAccepted(server_, cut.dump());
  ExpectRefused({{"documents", {letters}}, {"truncate", false}}, "document_too_long",
                "documents[0]");
  ExpectRefused({{"documents", {"aaaa"}}, {"truncate", false}, {"max_tokens_per_doc", 3}},
                "document_too_long", "documents[0]", "more than 3 tokens");
  ExpectRefused({{"query", letters}}, "query_too_long", "query", "more than 64 tokens");
  ExpectRefused({{"instruction", letters}}, "query_too_long", "query");
  ExpectRefused({{"truncate_prompt_tokens", 7}}, "query_too_long", "query", "more than 7 tokens");
}

// A document is 10 or more tokens, of which a pass with the prefix has 9.
TEST_F(RerankValidation, OfDocumentsThatDoNotFitByThemselves) {
  server_.limits_ = kOnePass;
  const std::string fits(8, 'a');
  const std::string too_long(9, 'a');
  ValidationTest::ExpectAccepted(server_,
                                 json{{"query", "q"}, {"documents", {fits, fits, fits}}}.dump());
  ExpectRefused({{"documents", {fits, fits, too_long}}}, "capacity", "documents[2]");
  ExpectRefused({{"documents", {fits, too_long, fits, fits}}}, "capacity", "documents[1]");
  ExpectRefused({{"documents", {fits, "x" + too_long}}}, "capacity", "documents[1]");
  ValidationTest::ExpectRefused(server_, json{{"query", "q"}, {"texts", {fits, too_long}}}.dump(),
                                "capacity", "texts[1]");
}

TEST_F(RerankValidation, OfAServerThatDoesNotRerank) {
  server_.options_.reranker = nullptr;
  server_.options_.no_reranker_reason = "This server has no template.";
  ExpectRefused(json::object(), "no_reranker", "", "This server has no template.");
}

TEST_F(RerankValidation, OfTokensThatTheModelDoesNotHave) {
  server_.config_.vocab_size = 'z';
  ExpectRefused({{"documents", {"a", "z"}}}, "token_out_of_vocabulary", "query");
  const FakeTokenizer without_bos({});
  server_.options_.reranker =
      MakeReranker("prompt: \"{query} {document}.\"\ntrue: 7\nscore: true\n", without_bos, {7});
  ExpectRefused({{"documents", {"a", "z"}}}, "token_out_of_vocabulary", "documents[1]");
  ExpectRefused({{"query", "z"}}, "token_out_of_vocabulary", "query");
}

class PairScoreValidation : public ValidationTest<RerankServer> {
 protected:
  struct ScoreServer : RerankServer {
    proto::Expected<PreparedRequest> Prepare(const std::string& body) const {
      return PrepareBody(ScoreEndpoint(), body, context());
    }
  };

  void ExpectRefused(const json& body, const std::string& reason, const std::string& param,
                     const std::string& message = "") const {
    SCOPED_TRACE(body);
    const auto prepared = server_.Prepare(body.dump());
    ASSERT_FALSE(prepared.has_value());
    EXPECT_EQ(prepared.error().code, 400);
    EXPECT_EQ(prepared.error().reason, reason) << prepared.error().message;
    EXPECT_EQ(prepared.error().param, param);
    EXPECT_THAT(prepared.error().message, HasSubstr(message));
  }

  ScoreServer server_;
};

TEST_F(PairScoreValidation, OfTheirNumber) {
  ExpectRefused({{"text_1", {"a", "b"}}, {"text_2", {"c"}}}, "pairs_mismatch", "text_2",
                "Input lengths must be either 1:1, 1:N or N:N");
  ExpectRefused({{"queries", json::array()}, {"documents", {"c"}}}, "no_pairs", "queries",
                "At least one text element must be given");
  ExpectRefused({{"data_1", "a"}, {"data_2", json::array()}}, "no_pairs", "data_2",
                "At least one text_pair element must be given");
}

TEST_F(PairScoreValidation, OfAnInstructionThatIsRepeatedForManyQueries) {
  json queries = json::array();
  for (int i = 0; i < 2000; ++i) {
    queries.push_back(std::to_string(i));
  }
  json body = {
      {"queries", queries}, {"documents", queries}, {"instruction", std::string(9000, 'a')}};
  ExpectRefused(body, "instruction_too_long", "instruction", "9000 bytes, which for 2000 queries");
  body["queries"] = "q";
  ExpectRefused(body, "query_too_long", "queries[0]");
}

TEST_F(PairScoreValidation, OfTheirFields) {
  ExpectRefused({{"text_1", "a"}}, "missing_field", "documents");
  ExpectRefused({{"text_1", "a"}, {"queries", "b"}, {"items", "c"}}, "given_twice", "text_1");
  ExpectRefused({{"text_1", "a"}, {"documents", "b"}, {"items", "c"}}, "given_twice", "items");
  ExpectRefused({{"text_1", 4}, {"documents", "b"}}, "wrong_type", "text_1");
  ExpectRefused({{"text_1", {"a", 4}}, {"documents", "b"}}, "wrong_type", "text_1[1]");
  ExpectRefused({{"text_1", "a"}, {"documents", {"b", {1}}}}, "wrong_type", "documents[1]");
  ExpectRefused({{"text_1", {"a", std::string(100, 'a')}}, {"text_2", {"b", "c"}}},
                "query_too_long", "text_1[1]");
  ExpectRefused({{"query", "a"}, {"documents", "b"}}, "missing_field", "items");
}

TEST_F(PairScoreValidation, QueriesThatAreEqualAreOne) {
  const PreparedRequest one = ValueOrFail(server_.Prepare(R"({"text_1":"q","text_2":["a","b"]})"));
  EXPECT_EQ(one.sequences.size(), 1U);
  EXPECT_EQ(one.readout->Summary(), "2 pairs");
  const PreparedRequest equal =
      ValueOrFail(server_.Prepare(R"({"queries":["q","r","q"],"documents":["a","b","c"]})"));
  ASSERT_EQ(equal.sequences.size(), 2U);
  EXPECT_EQ(equal.sequences[0].reads.size(), 2U);
  EXPECT_EQ(equal.sequences[1].AllTokens(), FromStart("why:r-b?"));
}

}  // namespace rerank_preparation_test
}  // namespace scorecast::coordinator

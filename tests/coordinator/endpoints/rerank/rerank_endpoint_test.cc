// Scores of documents, from the request to the response.

#include "coordinator/endpoints/rerank/rerank_endpoint.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/endpoints/score/score_endpoint.h"
#include "coordinator/json/response_writer.h"
#include "coordinator/prompts/sequence_layout.h"
#include "proto/http_responses.pb.h"
#include "proto/scorecast.pb.h"
#include "tests/coordinator/endpoints/asking.h"
#include "tests/coordinator/endpoints/fake_server.h"
#include "tests/coordinator/endpoints/rerank/test_reranker.h"

namespace scorecast::coordinator {
namespace rerank_endpoint_test {

using nlohmann::json;
using proto::PackedSequence;
using ::testing::ElementsAre;
using ::testing::StartsWith;
using Ids = std::vector<TokenId>;

constexpr TokenId kBos = 259;
constexpr TokenId kMerged = 261;
constexpr TokenId kLast = 262;  // The last token of a document that ends with "!".
constexpr const char* kProbability = R"(
    prompt: "Q:{query} D-{document}?"
    true: 11
    false: 22
    score: sigmoid(true - false)
    )";
constexpr const char* kDocumentFirst = R"(
    prompt: "D-{document} Q:{query}?"
    true: 11
    false: 22
    score: true - false
    )";

const Tokenizer& MergingTokenizer() {
  static const FakeTokenizer tokenizer({{"-x", kMerged}, {"!?", kLast}}, kBos);
  return tokenizer;
}

ServerOptions Options(const char* rerank_template = kProbability) {
  ServerOptions options;
  options.reranker = MakeReranker(rerank_template, MergingTokenizer(), {11, 22});
  return options;
}

/// The score of a prompt that is computed alone, as one causal sequence.
double ScoreAlone(const std::string& prompt, bool is_raw = false) {
  Ids ids = MergingTokenizer().Encode(prompt);
  ids.insert(ids.begin(), kBos);
  PackedSequence sequence = PackItems(std::make_shared<const Ids>(ids), {});
  sequence.label_lists = {{11, 22}};
  const proto::RowLogits row = ExpectedRow(
      sequence, {.row = static_cast<std::int32_t>(ids.size()) - 1}, FakeServer::kVocabSize);
  const double difference =
      static_cast<double>(row.label_logits[0]) - static_cast<double>(row.label_logits[1]);
  return is_raw ? difference : 1 / (1 + std::exp(-difference));
}

json Request(const std::string& query, const std::vector<std::string>& documents) {
  return {{"query", query}, {"documents", documents}};
}

v1::RerankResponse ResponseTo(FakeServer& server, const json& request,
                              const std::optional<ResponseIdentity>& identity = {}) {
  v1::RerankResponse response = ValueOrFail(Ask<v1::RerankResponse>(
      server.service, RerankEndpoint(), request, Clock::now(), {}, identity));
  server.scheduler.WaitIdle();
  return response;
}

/// [documents]
std::vector<double> ScoresByIndex(const v1::RerankResponse& response) {
  std::vector<double> scores(static_cast<std::size_t>(response.results_size()));
  for (const v1::RerankResult& result : response.results()) {
    scores.at(static_cast<std::size_t>(result.index())) = result.relevance_score();
  }
  return scores;
}

/// Short and long documents, some of which merge with the template, and two that are equal.
std::vector<std::string> Documents() {
  return {"a", "", "x marks it", "some longer text", std::string(150, 'l'), "b", "x", "a"};
}

TEST(Rerank, AScoreIsThatOfThePromptAlone) {
  FakeServer server(Options());
  const std::vector<std::string> documents = Documents();
  const v1::RerankResponse response = ResponseTo(server, Request("query", documents));
  const std::vector<double> scores = ScoresByIndex(response);
  ASSERT_EQ(scores.size(), documents.size());
  for (std::size_t i = 0; i < documents.size(); ++i) {
    EXPECT_NEAR(scores[i], ScoreAlone("Q:query D-" + documents[i] + "?"), 1e-12) << documents[i];
  }
  EXPECT_THAT(response.id(), StartsWith("rerank-"));
  EXPECT_EQ(response.model(), "default");
}

TEST(Rerank, TheIdFollowsFromTheIdentityThatATransportGives) {
  FakeServer server(Options());
  const json request = Request("query", {"a"});
  EXPECT_NE(ResponseTo(server, request).id(), ResponseTo(server, request).id());
  ResponseIdentity identity = {.id_seed = 7, .created = 1};
  const std::string id = ResponseTo(server, request, identity).id();
  EXPECT_EQ(id.size(), std::string("rerank-").size() + 32);
  EXPECT_EQ(id, ResponseTo(server, request, identity).id());
  identity.id_seed = 8;
  EXPECT_NE(id, ResponseTo(server, request, identity).id());
}

TEST(Rerank, ADocumentMayStandFirst) {
  FakeServer server(Options(kDocumentFirst));
  const std::vector<std::string> documents = Documents();
  const std::vector<double> scores = ScoresByIndex(ResponseTo(server, Request("query", documents)));
  ASSERT_EQ(scores.size(), documents.size());
  for (std::size_t i = 0; i < documents.size(); ++i) {
    EXPECT_NEAR(scores[i], ScoreAlone("D-" + documents[i] + " Q:query?", /*is_raw=*/true), 1e-12)
        << documents[i];
  }
}

TEST(Rerank, BitsDoNotDependOnOrderNumberOrCompany) {
  for (const char* rerank_template : {kProbability, kDocumentFirst}) {
    FakeServer server(Options(rerank_template));
    const std::vector<std::string> documents = Documents();
    std::vector<double> alone;
    for (const std::string& document : documents) {
      alone.push_back(
          ResponseTo(server, Request("query", {document})).results(0).relevance_score());
    }
    // A pass has 64 rows, so this takes hundreds of them.
    std::vector<std::string> many;
    std::vector<double> expected;
    for (std::size_t i = 0; i < 600; ++i) {
      const std::size_t index = (i * 5 + i / 100) % documents.size();
      many.push_back(documents[index]);
      expected.push_back(alone[index]);
      many.push_back("other " + std::to_string(i));
      expected.push_back(-1);
    }
    const std::vector<double> scores = ScoresByIndex(ResponseTo(server, Request("query", many)));
    ASSERT_EQ(scores.size(), expected.size());
    for (std::size_t i = 0; i < scores.size(); ++i) {
      if (expected[i] >= 0 || i % 2 == 0) {
        EXPECT_EQ(scores[i], expected[i]) << many[i];
      }
    }
  }
}

// A server without room for K/V between passes computes the prefix in every pass. Then a document's
// rows are the same segments as before.
TEST(Rerank, BitsDoNotDependOnTheDivisionIntoSequences) {
  FakeServer server(Options());
  proto::PlanLimits limits = server.cluster.limits();
  limits.kept_kv_rows = 0;
  FakeCluster small(limits, FakeServer::kVocabSize);
  Scheduler scheduler(small, {});
  RequestService divides(server.config, &server.tokenizer, server.options, scheduler, Endpoints());
  std::vector<std::string> documents;
  for (int i = 0; i < 60; ++i) {
    documents.push_back(std::string(static_cast<std::size_t>(i % 40), 'd') + std::to_string(i));
    documents.push_back("x" + std::to_string(i));
  }
  const json request = Request("query", documents);
  const v1::RerankResponse one = ResponseTo(server, request);
  const v1::RerankResponse several =
      ValueOrFail(Ask<v1::RerankResponse>(divides, RerankEndpoint(), request));
  scheduler.WaitIdle();
  EXPECT_EQ(ScoresByIndex(several), ScoresByIndex(one));
  EXPECT_EQ(several.usage().prompt_tokens(), one.usage().prompt_tokens());
  std::int64_t rows = 0;
  for (const proto::ForwardPlan& plan : small.plans()) {
    rows += static_cast<std::int64_t>(plan.tokens.size());
  }
  EXPECT_GT(rows, one.usage().prompt_tokens()) << "the documents were not divided";
}

TEST(Rerank, ThePrefixIsComputedOnceForAllPasses) {
  FakeServer server(Options());
  const std::string query(40, 'q');
  const v1::RerankResponse response =
      ResponseTo(server, Request(query, std::vector<std::string>(100, "text")));
  std::int64_t rows = 0;
  for (const proto::ForwardPlan& plan : server.cluster.plans()) {
    rows += static_cast<std::int64_t>(plan.tokens.size());
  }
  EXPECT_GT(server.cluster.plans().size(), 5U);
  EXPECT_EQ(rows, response.usage().prompt_tokens());
  EXPECT_EQ(response.usage().prompt_tokens(), 1 + 2 + 40 + 3 + 100 * 5);
}

TEST(Rerank, TheBestComeFirstAndEqualScoresByIndex) {
  FakeServer server(Options());
  json request = Request("query", {"a", "b", "a", "c", "a"});
  const v1::RerankResponse all = ResponseTo(server, request);
  ASSERT_EQ(all.results_size(), 5);
  std::vector<std::int64_t> equal;
  for (int i = 0; i < all.results_size(); ++i) {
    const v1::RerankResult& result = all.results(i);
    EXPECT_TRUE(i == 0 || all.results(i - 1).relevance_score() >= result.relevance_score());
    EXPECT_FALSE(result.has_document());
    if (request["documents"][static_cast<std::size_t>(result.index())] == "a") {
      equal.push_back(result.index());
    }
  }
  EXPECT_THAT(equal, ElementsAre(0, 2, 4));
  request["return_documents"] = true;
  for (const std::int64_t top_n : {1, 3, 5, 9}) {
    request["top_n"] = top_n;
    const v1::RerankResponse best = ResponseTo(server, request);
    ASSERT_EQ(best.results_size(), static_cast<int>(std::min<std::int64_t>(top_n, 5)));
    for (int i = 0; i < best.results_size(); ++i) {
      EXPECT_EQ(best.results(i).index(), all.results(i).index());
      EXPECT_EQ(best.results(i).document(),
                request["documents"][static_cast<std::size_t>(best.results(i).index())]);
    }
  }
}

// The formula's argument is so large that most of its sigmoids are 0 or 1.
TEST(Rerank, DocumentsAreOrderedByTheDifferenceOfLogits) {
  FakeServer server(Options(R"(
    prompt: "Q:{query} D-{document}?"
    true: 11
    false: 22
    score: sigmoid((true - false) / 1e-4)
    )"));
  std::vector<std::string> documents;
  for (char first = 'a'; first <= 't'; ++first) {
    documents.emplace_back(1, first);
  }
  json request = Request("query", documents);
  const v1::RerankResponse ranked = ResponseTo(server, request);
  request["raw_scores"] = true;
  const v1::RerankResponse raw = ResponseTo(server, request);
  ASSERT_EQ(ranked.results_size(), raw.results_size());
  std::set<double> scores;
  for (int i = 0; i < ranked.results_size(); ++i) {
    EXPECT_EQ(ranked.results(i).index(), raw.results(i).index()) << i;
    scores.insert(ranked.results(i).relevance_score());
  }
  EXPECT_LT(scores.size(), documents.size()) << "no scores are equal";
}

TEST(Rerank, RawScoresAreLogits) {
  FakeServer server(Options());
  json request = Request("query", {"a"});
  request["raw_scores"] = true;
  EXPECT_NEAR(ResponseTo(server, request).results(0).relevance_score(),
              ScoreAlone("Q:query D-a?", /*is_raw=*/true), 1e-12);
}

TEST(Rerank, NamesTheDocumentWhoseScoreIsNotFinite) {
  FakeServer server(Options());
  server.cluster.BreakToken(kLast);
  // A document that is broken breaks none of the others.
  EXPECT_EQ(ResponseTo(server, Request("query", {"a", "b"})).results_size(), 2);
  const auto response = Ask<v1::RerankResponse>(server.service, RerankEndpoint(),
                                                Request("query", {"a", "b", "c!", "d"}));
  server.scheduler.WaitIdle();
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code, 500);
  EXPECT_EQ(response.error().reason, "not_finite");
  EXPECT_EQ(response.error().param, "documents[2]");
}

TEST(Rerank, OfNoDocumentsIsEmpty) {
  FakeServer server(Options());
  const v1::RerankResponse response = ResponseTo(server, Request("query", {}));
  EXPECT_EQ(response.results_size(), 0);
  EXPECT_EQ(response.usage().prompt_tokens(), 0);
}

std::int64_t BoundOf(const json& request) {
  return ReadFrom<v1::RerankRequest>(RerankEndpoint().FromJson(request)).ResponseBytesBound({});
}

TEST(Rerank, ResponsesAreNoLongerThanTheirBound) {
  FakeServer server(Options());
  json request = Request("query", Documents());
  for (const bool returns_documents : {false, true}) {
    request["return_documents"] = returns_documents;
    v1::Response message;
    *message.mutable_rerank() = ResponseTo(server, request);
    EXPECT_LE(static_cast<std::int64_t>(message.ByteSizeLong()), BoundOf(request));
  }
}

TEST(Rerank, JsonIsNoLongerThanHttpExpects) {
  constexpr std::int64_t kJsonBytesPerMessageByte = 4;
  for (const std::string& text :
       {std::string(), std::string("\x01\x1f\n"), std::string(999, '\0'), std::string(999, '"')}) {
    const json request = Request("", std::vector<std::string>(1000, text));
    v1::RerankResponse response;
    response.set_id("rerank-" + std::string(32, 'f'));
    for (std::int64_t i = 0; i < 1000; ++i) {
      v1::RerankResult& result = *response.add_results();
      result.set_index(i + 100'000);
      result.set_relevance_score(1.2345678901234567e-300);
      result.set_document(text);
    }
    response.mutable_usage();
    response.mutable_timings();
    const google::protobuf::Descriptor* const forms[] = {v1::CohereRerankResponse::descriptor(),
                                                         v1::TeiRerankResponse::descriptor(),
                                                         v1::SglangRerankResponse::descriptor()};
    for (const google::protobuf::Descriptor* form : forms) {
      const std::string body = ResponseJson(response, FormOf(*response.descriptor(), *form));
      EXPECT_LE(static_cast<std::int64_t>(body.size()),
                kJsonBytesPerMessageByte * BoundOf(request));
    }
  }
}

v1::PairScoreResponse PairScores(FakeServer& server, const std::vector<std::string>& queries,
                                 const std::vector<std::string>& documents) {
  const json request = {{"queries", queries}, {"documents", documents}};
  v1::PairScoreResponse response =
      ValueOrFail(Ask<v1::PairScoreResponse>(server.service, ScoreEndpoint(), request));
  server.scheduler.WaitIdle();
  EXPECT_LE(static_cast<std::int64_t>(response.ByteSizeLong()),
            ReadFrom<v1::PairScoreRequest>(ScoreEndpoint().FromJson(request))
                .ResponseBytesBound(server.config));
  return response;
}

/// [pairs]
std::vector<double> ScoresOf(const v1::PairScoreResponse& response) {
  std::vector<double> scores;
  for (const v1::PairScore& pair : response.data()) {
    EXPECT_EQ(pair.index(), static_cast<std::int64_t>(scores.size()));
    scores.push_back(pair.score());
  }
  return scores;
}

TEST(PairScore, OneQueryOrOneForEachDocument) {
  for (const char* rerank_template : {kProbability, kDocumentFirst}) {
    FakeServer server(Options(rerank_template));
    const auto alone = [&](const std::string& query, const std::string& document) {
      return ResponseTo(server, Request(query, {document})).results(0).relevance_score();
    };
    EXPECT_THAT(ScoresOf(PairScores(server, {"q"}, {"b", "a", "x"})),
                ElementsAre(alone("q", "b"), alone("q", "a"), alone("q", "x")));
    EXPECT_THAT(ScoresOf(PairScores(server, {"q", "r", "q"}, {"b", "a", "x"})),
                ElementsAre(alone("q", "b"), alone("r", "a"), alone("q", "x")));
  }
}

TEST(PairScore, HasVllmsResponse) {
  FakeServer server(Options());
  const auto body = nlohmann::json::parse(ResponseJson(PairScores(server, {"q"}, {"b", "a"})));
  EXPECT_THAT(body.at("id").get<std::string>(), StartsWith("score-"));
  EXPECT_EQ(body.at("object"), "list");
  EXPECT_GT(body.at("created"), 1'700'000'000);
  EXPECT_EQ(body.at("model"), "default");
  ASSERT_EQ(body.at("data").size(), 2U);
  EXPECT_EQ(body.at("data")[1].at("index"), 1);
  EXPECT_EQ(body.at("data")[1].at("object"), "score");
  EXPECT_TRUE(body.at("data")[1].at("score").is_number());
  EXPECT_EQ(body.at("usage").at("prompt_tokens"), 1 + 6 + 2 * 2);
}

}  // namespace rerank_endpoint_test
}  // namespace scorecast::coordinator

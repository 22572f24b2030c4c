// Requests and responses of reranking as the clients of each service send and read them.

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/endpoints/rerank/rerank_endpoint.h"
#include "coordinator/json/json_writer.h"
#include "proto/scorecast.pb.h"
#include "tests/coordinator/endpoints/whole_text_server.h"

namespace scorecast::coordinator {
namespace rerank_dialects_test {

using nlohmann::json;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<std::string> kDocuments = {"a", "zz", "m"};

/// The logit of PairServer's class: the ids of 259, the query "q", 0, 259, the document, 0.
double LogitOf(const std::string& document) {
  double sum = 259 + 'q' + 259;
  for (const char byte : document) {
    sum += byte;
  }
  return sum / 1000;
}

double ScoreOf(const std::string& document) { return 1 / (1 + std::exp(-LogitOf(document))); }

json With(json body, const json& more) {
  body.update(more);
  return body;
}

/// The members of each element that have this name.
std::vector<json> Each(const OrderedJson& list, const char* name) {
  std::vector<json> values;
  for (const OrderedJson& one : list) {
    values.push_back(json(one.value(name, OrderedJson())));
  }
  return values;
}

void ExpectScores(const OrderedJson& list, const char* name) {
  ASSERT_EQ(list.size(), 3U) << list;
  EXPECT_THAT(Each(list, "index"), ElementsAre(1, 2, 0));
  for (const OrderedJson& one : list) {
    EXPECT_NEAR(one[name], ScoreOf(kDocuments.at(one["index"])), 1e-6);
  }
}

class RerankDialects : public ::testing::Test {
 protected:
  OrderedJson Respond(const json& body, const Endpoint& endpoint = RerankEndpoint()) const {
    return server_.Respond(endpoint, body);
  }
  /// "reason param" of the fault of a body.
  std::string FaultOf(const json& body, const Endpoint& endpoint = RerankEndpoint()) const {
    return server_.FaultOf(endpoint, body);
  }

  const json body_ = {{"query", "q"}, {"documents", kDocuments}};
  PairServer server_;
};

TEST_F(RerankDialects, VoyagesClientsAreToldByTopKOrTruncation) {
  const OrderedJson response =
      Respond(With(body_, {{"top_k", nullptr}, {"truncation", true}, {"return_documents", true}}));
  EXPECT_EQ(response["object"], "list");
  EXPECT_EQ(response["model"], "the-model");
  EXPECT_EQ(response["usage"], OrderedJson::parse(R"({"total_tokens":19})"));
  ExpectScores(response["data"], "relevance_score");
  EXPECT_THAT(Each(response["data"], "document"), ElementsAre("zz", "m", "a"));
  const OrderedJson two = Respond(With(body_, {{"top_k", 2}}));
  EXPECT_THAT(Each(two["data"], "index"), ElementsAre(1, 2));
  EXPECT_FALSE(two["data"][0].contains("document"));
  ExpectScores(Respond(body_, VoyageRerankEndpoint())["data"], "relevance_score");
  EXPECT_EQ(FaultOf(With(body_, {{"top_k", -1}})), "400 top_n_out_of_range top_k");
  server_.options_.max_text_tokens = 6;
  EXPECT_EQ(FaultOf(With(body_, {{"truncation", false}})), "413 document_too_long documents[1]");
  EXPECT_EQ(FaultOf(With(body_, {{"top_k", 1}, {"truncate", false}})),
            "413 document_too_long documents[1]");
  EXPECT_EQ(FaultOf(With(body_, {{"truncation", true}})), "none");
}

TEST_F(RerankDialects, NvidiasHaveLogits) {
  json body = {{"model", "m"}, {"query", {{"text", "q"}}}, {"passages", json::array()}};
  for (const std::string& document : kDocuments) {
    body["passages"].push_back({{"text", document}});
  }
  const OrderedJson response = Respond(body);
  EXPECT_EQ(response["usage"]["total_tokens"], 19);
  ASSERT_THAT(Each(response["rankings"], "index"), ElementsAre(1, 2, 0));
  for (const OrderedJson& ranking : response["rankings"]) {
    EXPECT_NEAR(ranking["logit"], LogitOf(kDocuments.at(ranking["index"])), 1e-6);
  }
  EXPECT_EQ(Respond(With(body, {{"top_k", 1}}))["rankings"].size(), 1U);
  EXPECT_NEAR(Respond(With(body, {{"raw_scores", false}}))["rankings"][2]["logit"], ScoreOf("a"),
              1e-6);
  EXPECT_EQ(Respond(With(body, {{"query", "q"}, {"passages", {"a"}}}))["rankings"].size(), 1U);
  EXPECT_EQ(FaultOf(With(body, {{"query", {{"text", 4}}}})), "400 wrong_type query");
  EXPECT_EQ(FaultOf(With(body, {{"truncate", "START"}})), "400 not_supported truncate");
  EXPECT_EQ(FaultOf(With(body, {{"truncate", "MIDDLE"}})), "400 unknown_truncate truncate");
  EXPECT_EQ(FaultOf(With(body, {{"truncate", 4}})), "400 wrong_type truncate");
  EXPECT_EQ(FaultOf(With(body, {{"documents", {"a"}}})), "400 not_supported documents");
  for (const char* const field : {"return_documents", "use_activation", "activation"}) {
    EXPECT_EQ(FaultOf(With(body, {{field, true}})), std::string("400 not_supported ") + field);
    EXPECT_EQ(FaultOf(With(body, {{field, false}})), "none");
  }
  server_.options_.max_text_tokens = 6;
  EXPECT_EQ(FaultOf(body), "413 document_too_long passages[1]") << "as with NONE";
  EXPECT_EQ(FaultOf(With(body, {{"truncate", "NONE"}})), "413 document_too_long passages[1]");
  EXPECT_EQ(FaultOf(With(body, {{"truncate", "END"}})), "none");
  EXPECT_EQ(FaultOf(With(body, {{"truncate", true}, {"truncation_direction", "left"}})), "none");
}

TEST_F(RerankDialects, ATextThatMayNotBeCutIsToldTheFieldThatCuts) {
  server_.options_.max_text_tokens = 6;
  const auto message = [&](const json& more, const Endpoint& endpoint) {
    const auto prepared = server_.Prepare(endpoint, With(body_, more));
    return prepared ? "none" : prepared.error().message;
  };
  const std::string too_long =
      "query and documents[1] together have 7 tokens, of which 6 are allowed. To have texts cut, "
      "set ";
  EXPECT_EQ(message({{"truncate", false}}, RerankEndpoint()), too_long + "truncate.");
  EXPECT_EQ(message({{"truncation", false}}, VoyageRerankEndpoint()), too_long + "truncation.");
  EXPECT_EQ(message({{"truncate", false}}, VoyageRerankEndpoint()), too_long + "truncate.");
  EXPECT_EQ(message({{"parameters", {{"truncate", "NONE"}}}}, PineconeRerankEndpoint()),
            too_long + "parameters.truncate.");
}

TEST_F(RerankDialects, InfinitysDocumentsAreTexts) {
  const OrderedJson response =
      Respond(With(body_, {{"return_documents", true}}), InfinityRerankEndpoint());
  EXPECT_EQ(response["object"], "rerank");
  ExpectScores(response["results"], "relevance_score");
  EXPECT_THAT(Each(response["results"], "document"), ElementsAre("zz", "m", "a"));
}

TEST_F(RerankDialects, IsaacusHasTexts) {
  // The package `rerankers` asks Isaacus for documents, too, which never returns any.
  const json body = {{"query", "q"}, {"texts", kDocuments}, {"return_documents", true}};
  const OrderedJson response = Respond(body, IsaacusRerankingEndpoint());
  ExpectScores(response["results"], "score");
  EXPECT_EQ(response["usage"], OrderedJson::parse(R"({"input_tokens":19})"));
  EXPECT_EQ(FaultOf(With(body, {{"is_iql", true}}), IsaacusRerankingEndpoint()),
            "400 not_supported is_iql");
  EXPECT_EQ(FaultOf(With(body, {{"scoring_method", "auto"}}), IsaacusRerankingEndpoint()), "none");
  EXPECT_EQ(FaultOf(With(body, {{"documents", kDocuments}}), IsaacusRerankingEndpoint()),
            "400 not_supported documents");
}

TEST_F(RerankDialects, HaveOneListOfDocuments) {
  const std::vector<std::string> names = {"documents", "texts", "passages", "input"};
  for (const std::string& one : names) {
    for (const std::string& other : names) {
      const json body = {{"query", "q"}, {one, kDocuments}, {other, kDocuments}};
      EXPECT_EQ(FaultOf(body) == "none", one == other) << body;
    }
  }
}

TEST_F(RerankDialects, PineconesRecordsAreReturnedWhole) {
  json body = {{"query", "q"}, {"documents", json::array()}, {"rank_fields", {"title"}}};
  for (const std::string& document : kDocuments) {
    body["documents"].push_back({{"id", document + "!"}, {"title", document}, {"pages", {1, 2}}});
  }
  const OrderedJson response = Respond(body, PineconeRerankEndpoint());
  ExpectScores(response["data"], "score");
  EXPECT_EQ(response["data"][0]["document"], OrderedJson(body["documents"][1]));
  EXPECT_EQ(response["usage"], OrderedJson::parse(R"({"rerank_units":1})"));
  EXPECT_EQ(response["model"], "the-model");
  EXPECT_FALSE(
      Respond(With(body, {{"return_documents", false}}), PineconeRerankEndpoint())["data"][0]
          .contains("document"));
  const OrderedJson texts = Respond(body_, PineconeRerankEndpoint());
  EXPECT_EQ(texts["data"][0]["document"], OrderedJson::parse(R"({"text":"zz"})"));
  const auto fault = [&](const json& more) {
    return FaultOf(With(body, more), PineconeRerankEndpoint());
  };
  EXPECT_EQ(fault({{"rank_fields", {"a", "b"}}}), "400 not_supported rank_fields");
  EXPECT_EQ(fault({{"rank_fields", {"body"}}}), "400 missing_field documents[0].body");
  EXPECT_EQ(fault({{"rank_fields", {"pages"}}}), "400 wrong_type documents[0].pages");
  EXPECT_EQ(fault({{"documents", {"a", 4}}}), "400 wrong_type documents[1]");
  server_.options_.max_text_tokens = 6;
  EXPECT_EQ(fault({{"parameters", {{"truncate", "NONE"}}}}), "413 document_too_long documents[1]");
  EXPECT_EQ(fault({{"parameters", {{"truncate", "END"}}}}), "none");
  EXPECT_EQ(fault({{"parameters", {{"truncate", "x"}}}}),
            "400 unknown_truncate parameters.truncate");
  EXPECT_EQ(fault({{"parameters", {{"truncate", "START"}}}}),
            "400 not_supported parameters.truncate");
  EXPECT_EQ(fault({{"parameters", {{"max_chunks_per_doc", 1}}}}),
            "400 unknown_field parameters.max_chunks_per_doc");
}

TEST_F(RerankDialects, OfAKeyThatARecordHasTwiceTheLastValueIsRanked) {
  const PreparedRequest prepared = ValueOrFail(
      PrepareBody(PineconeRerankEndpoint(),
                  R"({"query":"q","documents":[{"text":"zz","text":"m"}]})", server_.context()));
  const auto response = prepared.readout->Respond(PairServer::Compute(prepared.sequences));
  std::string body;
  JsonWriter writer(body);
  (*response)->WriteJson(writer);
  EXPECT_THAT(body, HasSubstr(R"("document":{"text":"zz","text":"m"})"));
  EXPECT_NEAR(json::parse(body)["data"][0]["score"], ScoreOf("m"), 1e-6);
}

TEST_F(RerankDialects, MixedbreadsAreToldByInput) {
  const json body = {{"query", "q"}, {"input", kDocuments}, {"return_input", true}};
  const OrderedJson response = Respond(body);
  EXPECT_EQ(response["object"], "list");
  EXPECT_EQ(response["usage"]["total_tokens"], 19);
  ExpectScores(response["data"], "score");
  EXPECT_THAT(Each(response["data"], "input"), ElementsAre("zz", "m", "a"));
  const json record = {{"title", "m"}, {"year", 1999}};
  const OrderedJson records =
      Respond(With(body, {{"input", {record}}, {"rank_fields", {"title"}}, {"top_k", 1}}));
  EXPECT_EQ(records["data"][0]["input"], OrderedJson(record));
  EXPECT_NEAR(records["data"][0]["score"], ScoreOf("m"), 1e-6);
  EXPECT_FALSE(Respond({{"query", "q"}, {"input", {"a"}}})["data"][0].contains("input"));
  EXPECT_EQ(FaultOf(With(body, {{"rewrite_query", true}})), "400 not_supported rewrite_query");
  EXPECT_EQ(FaultOf(With(body, {{"input", {record}}})), "400 missing_field input[0].text");
}

TEST_F(RerankDialects, ScoresOfPairsAreInTheOrderOfTheRequest) {
  const OrderedJson weaviate = Respond(With(body_, {{"property", ""}}), WeaviateRerankEndpoint());
  const OrderedJson deepinfra =
      Respond({{"queries", {"q", "q", "q"}}, {"documents", kDocuments}}, DeepInfraRerankEndpoint());
  ASSERT_EQ(weaviate["scores"].size(), 3U);
  ASSERT_EQ(deepinfra["scores"].size(), 3U);
  for (std::size_t i = 0; i < kDocuments.size(); ++i) {
    EXPECT_NEAR(weaviate["scores"][i]["score"], ScoreOf(kDocuments[i]), 1e-6);
    EXPECT_NEAR(deepinfra["scores"][i], ScoreOf(kDocuments[i]), 1e-6);
  }
  EXPECT_EQ(deepinfra["input_tokens"], 19);
  EXPECT_EQ(deepinfra["inference_status"]["tokens_input"], 19);
  EXPECT_EQ(FaultOf({{"documents", kDocuments}}, WeaviateRerankEndpoint()),
            "400 missing_field query");
  EXPECT_EQ(FaultOf(With(body_, {{"score_threshold", 0.5}}), WeaviateRerankEndpoint()),
            "400 not_supported score_threshold");
  for (const char* const field : {"top_n", "top_k", "topN"}) {
    EXPECT_EQ(FaultOf(With(body_, {{field, 1}}), WeaviateRerankEndpoint()),
              std::string("400 not_supported ") + field);
    EXPECT_EQ(FaultOf(With(body_, {{field, 0}}), WeaviateRerankEndpoint()), "none");
  }
  EXPECT_EQ(FaultOf(With(body_, {{"return_documents", true}}), WeaviateRerankEndpoint()),
            "400 not_supported return_documents");
}

TEST_F(RerankDialects, TopNHasThreeNames) {
  const OrderedJson flowise = Respond(With(body_, {{"topN", 2}}));
  EXPECT_THAT(Each(flowise["results"], "index"), ElementsAre(1, 2));
  EXPECT_EQ(Respond(With(body_, {{"topN", 1}, {"top_n", 1}}))["results"].size(), 1U);
  EXPECT_EQ(FaultOf(With(body_, {{"topN", 2}, {"top_n", 1}})), "400 given_twice topN");
  EXPECT_EQ(FaultOf(With(body_, {{"topN", "2"}, {"top_n", 2}})), "400 wrong_type topN");
  EXPECT_EQ(FaultOf(With(body_, {{"topN", -1}})), "400 top_n_out_of_range topN");
}

// JSON has no such number, but a message has.
TEST_F(RerankDialects, AThresholdIsANumber) {
  v1::Request request;
  request.mutable_rerank()->set_query("q");
  request.mutable_rerank()->add_documents("a");
  request.mutable_rerank()->set_score_threshold(std::nan(""));
  const ParsedRequest parsed = RerankEndpoint().FromMessage(std::move(request));
  const auto prepared = std::move(**parsed).Prepare(server_.context(), {});
  EXPECT_EQ(prepared.error().reason, "score_threshold_out_of_range");
}

// A document whose score is the threshold is returned.
TEST_F(RerankDialects, AThresholdLeavesDocumentsOutBeforeTopN) {
  const double score = Respond(body_)["results"][1]["relevance_score"];
  const auto results = [&](double threshold, const json& more = json::object()) {
    return Each(Respond(With(With(body_, {{"score_threshold", threshold}}), more))["results"],
                "index");
  };
  EXPECT_THAT(results(score), ElementsAre(1, 2));
  EXPECT_THAT(results(score + 1e-9), ElementsAre(1));
  EXPECT_THAT(results(score, {{"top_n", 1}}), ElementsAre(1));
  EXPECT_THAT(results(score, {{"top_n", 3}}), ElementsAre(1, 2));
  EXPECT_THAT(results(1), IsEmpty());
  EXPECT_THAT(results(-1), ElementsAre(1, 2, 0));
  const json texts = {{"query", "q"}, {"texts", kDocuments}, {"score_threshold", score}};
  EXPECT_THAT(Each(Respond(texts), "index"), ElementsAre(1, 2));
  EXPECT_EQ(Respond(With(body_, {{"score_threshold", score}, {"top_k", 3}}))["data"].size(), 2U);
  const json logits = {{"query", "q"}, {"passages", kDocuments}, {"score_threshold", LogitOf("l")}};
  EXPECT_THAT(Each(Respond(logits)["rankings"], "index"), ElementsAre(1, 2));
  EXPECT_EQ(
      Respond(With(body_, {{"score_threshold", score}}), PineconeRerankEndpoint())["data"].size(),
      2U);
}

/// How seven documents are asked to be ranked, and where the ranking is in the response.
struct RankingForm {
  const Endpoint& endpoint;
  json body;
  const char* list;   ///< Empty: the response itself is the list.
  const char* score;  ///< Name of an element's score.
};

/// The forms of all clients whose responses are rankings.
std::vector<RankingForm> RankingForms() {
  const json texts = {"a", "b", "c", "d", "e", "f", "g"};
  const json body = {{"query", "q"}, {"documents", texts}};
  return {{RerankEndpoint(), body, "results", "relevance_score"},
          {RerankEndpoint(), With(body, {{"truncation", true}}), "data", "relevance_score"},
          {RerankEndpoint(), {{"query", "q"}, {"texts", texts}}, "", "score"},
          {RerankEndpoint(),
           {{"query", "q"}, {"passages", texts}, {"raw_scores", false}},
           "rankings",
           "logit"},
          {RerankEndpoint(), {{"query", "q"}, {"input", texts}}, "data", "score"},
          {VoyageRerankEndpoint(), body, "data", "relevance_score"},
          {InfinityRerankEndpoint(), body, "results", "relevance_score"},
          {IsaacusRerankingEndpoint(), {{"query", "q"}, {"texts", texts}}, "results", "score"},
          {PineconeRerankEndpoint(), body, "data", "score"}};
}

OrderedJson ListOf(const OrderedJson& response, const RankingForm& form) {
  return *form.list == '\0' ? response : response[form.list];
}

class RerankOrder : public RerankDialects {
 protected:
  OrderedJson Ranking(const RankingForm& form, const json& more = json::object()) const {
    return ListOf(server_.Respond(form.endpoint, With(form.body, more), logits_), form);
  }

  std::vector<float> logits_ = {60, 40, 70, 50, 90, 80, 65};
};

// The sigmoids of all these logits are 1, or 0.
TEST_F(RerankOrder, IsThatOfLogitsWhoseSigmoidsAreEqual) {
  for (const char* formula : {"sigmoid(true)", "sigmoid(true / 0.9)"}) {
    server_.SetFormula(formula);
    for (const float offset : {0.0F, -2000.0F}) {
      for (float& logit : logits_) {
        logit += offset;
      }
      for (const RankingForm& form : RankingForms()) {
        SCOPED_TRACE(form.body.dump() + formula);
        const OrderedJson ranking = Ranking(form);
        EXPECT_THAT(Each(ranking, "index"), ElementsAre(4, 5, 2, 6, 0, 3, 1));
        EXPECT_THAT(Each(ranking, form.score), ::testing::Each(offset == 0 ? 1.0 : 0.0));
        EXPECT_THAT(Each(Ranking(form, {{"top_n", 1}}), "index"), ElementsAre(4));
      }
      for (float& logit : logits_) {
        logit -= offset;
      }
    }
  }
}

TEST_F(RerankOrder, OfSglangsList) {
  server_.options_.rerank_form = RerankForm::kSglang;
  const RankingForm form = {RerankEndpoint(), RankingForms().front().body, "", "score"};
  EXPECT_THAT(Each(Ranking(form), "index"), ElementsAre(4, 5, 2, 6, 0, 3, 1));
}

TEST_F(RerankOrder, OfTheRequestIfLogitsAreEqual) {
  logits_ = {40, 50, 40, 50, 60, 40, 50};
  for (const RankingForm& form : RankingForms()) {
    EXPECT_THAT(Each(Ranking(form), "index"), ElementsAre(4, 1, 3, 6, 0, 2, 5)) << form.body;
  }
}

TEST_F(RerankOrder, IsTheSameForEveryScaleOfScores) {
  logits_ = {60, 40, 70, -50, 90, -80, 65};
  for (const char* formula : {"true", "true / 3", "sigmoid(true)", "sigmoid(true / 3)"}) {
    server_.SetFormula(formula);
    for (const bool is_raw : {false, true}) {
      EXPECT_THAT(Each(Ranking(RankingForms().front(), {{"raw_scores", is_raw}}), "index"),
                  ElementsAre(4, 2, 6, 0, 1, 3, 5))
          << formula;
    }
  }
}

TEST_F(RerankOrder, AThresholdIsComparedWithTheScoreOfTheResponse) {
  const RankingForm form = RankingForms().front();
  EXPECT_THAT(Each(Ranking(form, {{"score_threshold", 1}}), "index"),
              ElementsAre(4, 5, 2, 6, 0, 3, 1));
  EXPECT_THAT(Each(Ranking(form, {{"score_threshold", 1}, {"top_n", 2}}), "index"),
              ElementsAre(4, 5));
  EXPECT_THAT(Each(Ranking(form, {{"score_threshold", 2}}), "index"), IsEmpty());
  EXPECT_THAT(Each(Ranking(form, {{"score_threshold", 65}, {"raw_scores", true}}), "index"),
              ElementsAre(4, 5, 2, 6));
}

}  // namespace rerank_dialects_test
}  // namespace scorecast::coordinator

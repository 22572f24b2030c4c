#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/endpoints/rerank/rerank_endpoint.h"
#include "coordinator/json/response_writer.h"
#include "proto/http_responses.pb.h"
#include "proto/scorecast.pb.h"
#include "tests/coordinator/endpoints/asking.h"

namespace scorecast::coordinator {
namespace rerank_json_test {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Request = MessageRequest<v1::RerankRequest>;

Request Parsed(const json& body) {
  SCOPED_TRACE(body);
  return ReadFrom<v1::RerankRequest>(RerankEndpoint().FromJson(body));
}

void ExpectRefused(const json& body, const std::string& reason, const std::string& param) {
  SCOPED_TRACE(body);
  const ParsedRequest request = RerankEndpoint().FromJson(body);
  ASSERT_FALSE(request.has_value());
  EXPECT_EQ(request.error().code, 400);
  EXPECT_EQ(request.error().reason, reason) << request.error().message;
  EXPECT_EQ(request.error().param, param);
}

TEST(RerankRequestFromJson, TakesWhatCohereAndJinaSend) {
  const Request request = Parsed({{"model", "m"},
                                  {"query", "q"},
                                  {"documents", {"a", {{"text", "b"}, {"title", "t"}}}},
                                  {"top_n", 2},
                                  {"return_documents", true},
                                  {"max_tokens_per_doc", 4096},
                                  {"max_chunks_per_doc", 10},
                                  {"priority", 3},
                                  {"rank_fields", {"text"}},
                                  {"user", "u"}});
  EXPECT_EQ(request.message.query(), "q");
  EXPECT_THAT(request.message.documents(), ElementsAre("a", "b"));
  EXPECT_EQ(request.message.top_n(), 2);
  EXPECT_EQ(request.message.return_documents(), true);
  EXPECT_EQ(request.message.max_tokens_per_doc(), 4096);
  EXPECT_TRUE(request.message.truncate());
  EXPECT_FALSE(request.message.raw_scores());
  EXPECT_FALSE(request.message.has_truncation_direction());
  EXPECT_EQ(request.model, "m");
  EXPECT_EQ(request.priority, 3);
  EXPECT_EQ(request.form->name(), "RerankRequest") << "the server's form";
}

TEST(RerankRequestFromJson, AbsentFieldsHaveDefaults) {
  const Request request = Parsed({{"query", "q"}, {"documents", json::array()}});
  EXPECT_THAT(request.message.documents(), IsEmpty());
  EXPECT_EQ(request.message.top_n(), 0);
  EXPECT_FALSE(request.message.has_return_documents());
  EXPECT_FALSE(request.message.has_instruction());
  EXPECT_EQ(request.message.max_tokens_per_doc(), 0);
  EXPECT_EQ(request.message.truncate_prompt_tokens(), -1);
}

TEST(RerankRequestFromJson, BooleansMayBeStrings) {
  // RAGFlow's client of Xinference.
  json body = {
      {"query", "q"}, {"documents", {"a"}}, {"return_documents", "true"}, {"return_len", "true"}};
  EXPECT_EQ(Parsed(body).message.return_documents(), true);
  body["return_documents"] = "False";
  EXPECT_EQ(Parsed(body).message.return_documents(), false);
  body["return_documents"] = "yes";
  ExpectRefused(body, "wrong_type", "return_documents");
}

TEST(RerankRequestFromJson, AnInstructionHasTwoNames) {
  json body = {{"query", "q"}, {"documents", {"a"}}, {"instruct", "i"}};
  EXPECT_EQ(Parsed(body).message.instruction(), "i");
  body["instruction"] = "i";
  EXPECT_EQ(Parsed(body).message.instruction(), "i");
  body["instruction"] = "another";
  ExpectRefused(body, "given_twice", "instruct");
  body.erase("instruct");
  EXPECT_EQ(Parsed(body).message.instruction(), "another");
}

TEST(RerankRequestFromJson, EveryNameOfABooleanHasItsType) {
  ExpectRefused(
      {{"query", "q"}, {"documents", {"a"}}, {"use_activation", false}, {"activation", 7}},
      "wrong_type", "activation");
  ExpectRefused(
      {{"query", "q"}, {"documents", {"a"}}, {"raw_scores", true}, {"activation", "none"}},
      "wrong_type", "activation");
}

TEST(RerankRequestFromJson, ActivationMayBeTurnedOff) {
  for (const char* field : {"use_activation", "activation"}) {
    json body = {{"query", "q"}, {"documents", {"a"}}, {field, false}};
    EXPECT_TRUE(Parsed(body).message.raw_scores());
    body[field] = true;
    EXPECT_FALSE(Parsed(body).message.raw_scores());
  }
}

TEST(RerankRequestFromJson, TextsMakeItTeis) {
  json body = {{"query", "q"}, {"texts", {"a", "b"}}};
  const Request defaults = Parsed(body);
  EXPECT_EQ(defaults.form->name(), "TeiRerankRequest");
  EXPECT_EQ(defaults.NameOf(v1::RerankRequest::kDocumentsFieldNumber), "texts");
  EXPECT_THAT(defaults.message.documents(), ElementsAre("a", "b"));
  EXPECT_FALSE(defaults.message.truncate()) << "as in TEI";
  EXPECT_FALSE(defaults.message.raw_scores());
  EXPECT_EQ(defaults.message.return_documents(), false);
  EXPECT_EQ(defaults.message.top_n(), 0);
  // LiteLLM sends top_n, and texts as objects if it is given objects.
  body.update({{"texts", {"a", {{"text", "c"}}}},
               {"top_n", 1},
               {"raw_scores", true},
               {"return_text", true},
               {"truncate", true},
               {"truncation_direction", "Left"}});
  const Request request = Parsed(body);
  EXPECT_TRUE(request.message.raw_scores());
  EXPECT_TRUE(request.message.truncate());
  EXPECT_EQ(request.message.truncation_direction(), "Left");
  EXPECT_EQ(request.message.return_documents(), true);
  EXPECT_THAT(request.message.documents(), ElementsAre("a", "c"));
  EXPECT_EQ(request.message.top_n(), 1);
}

TEST(RerankRequestFromJson, TakesCoheresPriorities) {
  json body = {{"query", "q"}, {"documents", {"a"}}};
  EXPECT_EQ(Parsed(body).priority, 0);
  for (const auto& [sent, meant] : {std::pair{-10, -10}, {10, 10}, {11, 10}, {999, 10}}) {
    body["priority"] = sent;
    EXPECT_EQ(Parsed(body).priority, meant);
  }
  body["priority"] = 1000;
  EXPECT_EQ(Parsed(body).priority, 1000) << "out of range";
  body["priority"] = "high";
  ExpectRefused(body, "wrong_type", "priority");
  EXPECT_EQ(Parsed({{"query", "q"}, {"texts", {"a"}}, {"priority", 11}}).priority, 11);
}

TEST(RerankRequestFromJson, RefusesWhatWouldChangeTheResult) {
  const json body = {{"query", "q"}, {"documents", {"a"}}};
  const auto with = [&](const std::string& field, const json& value) {
    json changed = body;
    changed[field] = value;
    return changed;
  };
  ExpectRefused(with("rank_fields", {"title", "text"}), "not_supported", "rank_fields");
  ExpectRefused(with("chat_template_kwargs", {{"instruction", "i"}}), "not_supported",
                "chat_template_kwargs");
  ExpectRefused(with("apply_softmax", false), "not_supported", "apply_softmax");
  ExpectRefused(with("temperature", 0.5), "not_supported", "temperature");
  ExpectRefused(with("label_token_ids", {1}), "not_supported", "label_token_ids");
  ExpectRefused(with("labels", {"yes"}), "not_supported", "labels");
  ExpectRefused(with("logit_bias", {{"1", 2}}), "not_supported", "logit_bias");
  ExpectRefused(with("add_special_tokens", false), "not_supported", "add_special_tokens");
  ExpectRefused(with("stream", true), "not_supported", "stream");
  ExpectRefused(with("query_embed_overrides", {1}), "not_supported", "query_embed_overrides");
  Parsed(with("temperature", 1.0));
  Parsed(with("add_special_tokens", true));
  ExpectRefused({{"query", "q"}, {"texts", {"a"}}, {"documents", {"b"}}}, "not_supported",
                "documents");
}

TEST(RerankRequestFromJson, NamesTheFieldAtFault) {
  ExpectRefused(json::array(), "wrong_type", "");
  ExpectRefused({{"documents", {"a"}}}, "missing_field", "query");
  ExpectRefused({{"query", "q"}}, "missing_field", "documents");
  ExpectRefused({{"query", 4}, {"documents", {"a"}}}, "wrong_type", "query");
  ExpectRefused({{"query", "q"}, {"documents", "a"}}, "wrong_type", "documents");
  ExpectRefused({{"query", "q"}, {"documents", {"a", 4}}}, "wrong_type", "documents[1]");
  ExpectRefused({{"query", "q"}, {"documents", {{{"title", "t"}}}}}, "wrong_type", "documents[0]");
  ExpectRefused({{"query", "q"}, {"texts", {"a", {{"title", "b"}}}}}, "wrong_type", "texts[1]");
  ExpectRefused({{"query", "q"}, {"documents", {"a"}}, {"top_n", 1.5}}, "wrong_type", "top_n");
}

v1::RerankResponse Example() {
  v1::RerankResponse response;
  response.set_id("rerank-1");
  response.set_model("m");
  response.mutable_usage()->set_prompt_tokens(7);
  response.mutable_usage()->set_total_tokens(7);
  for (const int index : {1, 0}) {
    v1::RerankResult& result = *response.add_results();
    result.set_index(index);
    result.set_relevance_score(index == 1 ? 0.75 : 0.25);
    result.set_document(index == 1 ? "b" : "a");
  }
  response.mutable_timings()->set_total_ms(1.5);
  return response;
}

std::string CohereJson(const v1::RerankResponse& response) {
  return ResponseJson(response,
                      FormOf(*response.descriptor(), *v1::CohereRerankResponse::descriptor()));
}

TEST(RerankResponseToJson, HasWhatTheClientsOfCohereJinaAndVllmRead) {
  v1::RerankResponse response = Example();
  const std::string rest =
      R"("usage":{"prompt_tokens":7,"total_tokens":7,"completion_tokens":0,"cached_tokens":0},)"
      R"("meta":{"api_version":{"version":"2"},"billed_units":{"search_units":1},)"
      R"("tokens":{"input_tokens":7,"output_tokens":0}},)"
      R"("timings":{"queue_ms":0.0,"tokenize_ms":0.0,"forward_ms":0.0,"total_ms":1.5}})";
  EXPECT_EQ(CohereJson(response),
            R"({"id":"rerank-1","model":"m","results":[)"
            R"({"index":1,"relevance_score":0.75,"document":{"text":"b"}},)"
            R"({"index":0,"relevance_score":0.25,"document":{"text":"a"}}],)" +
                rest);
  response.mutable_results()->DeleteSubrange(0, 1);
  response.mutable_results(0)->clear_document();
  EXPECT_EQ(
      CohereJson(response),
      R"({"id":"rerank-1","model":"m","results":[{"index":0,"relevance_score":0.25}],)" + rest);
  response.clear_results();
  EXPECT_EQ(CohereJson(response), R"({"id":"rerank-1","model":"m","results":[],)" + rest);
}

TEST(RerankResponseToJson, HasTheListsOfTeiAndSglang) {
  v1::RerankResponse response = Example();
  response.mutable_results(1)->set_document("");
  const ResponseForm& tei = FormOf(*response.descriptor(), *v1::TeiRerankResponse::descriptor());
  const ResponseForm& sglang =
      FormOf(*response.descriptor(), *v1::SglangRerankResponse::descriptor());
  EXPECT_EQ(ResponseJson(response, tei),
            R"([{"index":1,"score":0.75,"text":"b"},{"index":0,"score":0.25,"text":""}])");
  EXPECT_EQ(ResponseJson(response, sglang),
            R"([{"score":0.75,"document":"b","index":1,"meta_info":{"id":"rerank-1"}},)"
            R"({"score":0.25,"document":"","index":0,"meta_info":{"id":"rerank-1"}}])");
  response.mutable_results(0)->clear_document();
  response.mutable_results(1)->clear_document();
  EXPECT_EQ(ResponseJson(response, tei), R"([{"index":1,"score":0.75},{"index":0,"score":0.25}])");
  EXPECT_EQ(ResponseJson(response, sglang),
            R"([{"score":0.75,"index":1,"meta_info":{"id":"rerank-1"}},)"
            R"({"score":0.25,"index":0,"meta_info":{"id":"rerank-1"}}])");
  response.clear_results();
  EXPECT_EQ(ResponseJson(response, tei), "[]");
  EXPECT_EQ(ResponseJson(response, sglang), "[]");
}

TEST(RerankEndpoint, ErrorsHaveTheFieldsThatEachClientShows) {
  EXPECT_EQ(RerankEndpoint().ErrorToJson({400, "document_too_long", "Too long.", "texts[1]"}),
            R"({"object":"error","message":"Too long.","type":"BadRequestError",)"
            R"("param":"texts[1]","code":400,"reason":"document_too_long","error":"Too long.",)"
            R"("error_type":"validation","detail":"Too long."})");
  const auto type_of = [](int code) {
    return json::parse(RerankEndpoint().ErrorToJson({code, "", "", ""}))["error_type"];
  };
  EXPECT_EQ(type_of(429), "overloaded");
  EXPECT_EQ(type_of(503), "overloaded");
  EXPECT_EQ(type_of(500), "backend");
}

}  // namespace rerank_json_test
}  // namespace scorecast::coordinator

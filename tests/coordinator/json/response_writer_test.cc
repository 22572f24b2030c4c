#include "coordinator/json/response_writer.h"

#include <array>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/json/json_text.h"
#include "proto/http_responses.pb.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
namespace response_writer_test {

constexpr const char* kEnd =
    R"("usage":{"prompt_tokens":11,"total_tokens":14,"completion_tokens":3,"cached_tokens":5},)";
constexpr const char* kTimings =
    R"("timings":{"queue_ms":1.0,"tokenize_ms":2.5,"forward_ms":3.0,"total_ms":4.0}})";

template <typename Response>
void SetEnd(Response& response) {
  response.set_model("m");
  response.mutable_usage()->set_prompt_tokens(11);
  response.mutable_usage()->set_total_tokens(14);
  response.mutable_usage()->set_completion_tokens(3);
  response.mutable_usage()->set_cached_tokens(5);
  response.mutable_timings()->set_queue_ms(1);
  response.mutable_timings()->set_tokenize_ms(2.5);
  response.mutable_timings()->set_forward_ms(3);
  response.mutable_timings()->set_total_ms(4);
}

void Add(const std::vector<double>& row, google::protobuf::RepeatedPtrField<v1::Numbers>& rows) {
  rows.Add()->mutable_values()->Assign(row.begin(), row.end());
}

void AddTop(v1::TokenLogprobs& row) {
  v1::TokenLogprob& first = *row.add_entries();
  first.set_id(7);
  first.set_logprob(-0.5);
  row.add_entries()->set_logprob(-0.75);
}

v1::ScoreResponse Scores() {
  v1::ScoreResponse response;
  SetEnd(response);
  Add({0.25, 0.5}, *response.mutable_scores());
  Add({}, *response.mutable_scores());
  Add({1}, *response.mutable_scores());
  return response;
}

TEST(ScoreResponseJson, HasEveryField) {
  v1::ScoreResponse response = Scores();
  Add({-1, -2}, *response.mutable_token_logprobs());
  Add({}, *response.mutable_token_logprobs());
  Add({-4e-7}, *response.mutable_token_logprobs());
  response.mutable_query_token_logprobs()->add_values(-3);
  AddTop(*response.add_top_logprobs());
  response.add_top_logprobs();
  response.set_item_first_ignored(true);
  EXPECT_EQ(ResponseJson(response),
            std::string(R"({"object":"scoring","scores":[[0.25,0.5],[],[1.0]],"model":"m",)") +
                kEnd +
                R"("token_logprobs":[[-1.0,-2.0],[],[-4e-07]],"query_token_logprobs":[-3.0],)"
                R"("top_logprobs":[[[7,-0.5],[0,-0.75]],[]],"item_first_ignored":true,)" +
                kTimings);
}

TEST(ScoreResponseJson, OmitsWhatWasNotAskedFor) {
  v1::ScoreResponse response = Scores();
  EXPECT_EQ(ResponseJson(response),
            std::string(R"({"object":"scoring","scores":[[0.25,0.5],[],[1.0]],"model":"m",)") +
                kEnd + kTimings);
  response.clear_scores();
  EXPECT_EQ(ResponseJson(response),
            std::string(R"({"object":"scoring","scores":[],"model":"m",)") + kEnd + kTimings);
  response.mutable_query_token_logprobs();
  EXPECT_EQ(ResponseJson(response), std::string(R"({"object":"scoring","scores":[],"model":"m",)") +
                                        kEnd + R"("query_token_logprobs":[],)" + kTimings);
}

TEST(ScoreResponseJson, GroupsTheRowsOfAnItem) {
  v1::ScoreResponse response = Scores();
  *response.mutable_token_logprobs() = response.scores();
  for (const int count : {2, 0, 1}) {
    response.add_occurrences(count);
  }
  EXPECT_EQ(
      ResponseJson(response),
      std::string(R"({"object":"scoring","scores":[[[0.25,0.5],[]],[],[[1.0]]],"model":"m",)") +
          kEnd + R"("token_logprobs":[[[0.25,0.5],[]],[],[[1.0]]],)" + kTimings);
}

TEST(ScoreResponseJson, HasTheTruthsOfLikelihoods) {
  v1::ScoreResponse response;
  response.add_is_greedy(true);
  response.add_is_greedy(false);
  EXPECT_THAT(ResponseJson(response), ::testing::HasSubstr(R"("is_greedy":[true,false])"));
}

TEST(WriteResponse, KeepsEmptyListsThatWereAskedFor) {
  v1::ScoreResponse response;
  response.set_model("m");
  std::string text;
  JsonWriter writer(text);
  constexpr std::array<int, 1> kKept = {v1::ScoreResponse::kTopLogprobsFieldNumber};
  WriteResponse(response, FormOf(*v1::ScoreResponse::descriptor()), {.kept = kKept}, writer);
  EXPECT_EQ(text, R"({"object":"scoring","scores":[],"model":"m","top_logprobs":[]})");
}

TEST(ChunkedResponseJson, HasEveryField) {
  v1::ChunkedResponse response;
  SetEnd(response);
  Add({0.25, 0.5}, *response.mutable_scores());
  v1::ChunkedOutput& output = *response.add_outputs();
  output.set_text("a\n");
  output.add_token_ids(1);
  output.add_token_ids(2);
  output.set_finish_reason("stop");
  response.add_outputs()->set_finish_reason("length");
  Add({-1, -2}, *response.mutable_token_logprobs());
  AddTop(*response.add_top_logprobs());
  response.set_seed(18'446'744'073'709'551'615U);
  EXPECT_EQ(ResponseJson(response),
            std::string(R"({"object":"chunked","scores":[[0.25,0.5]],"outputs":[)"
                        R"({"text":"a\n","token_ids":[1,2],"finish_reason":"stop"},)"
                        R"({"text":"","token_ids":[],"finish_reason":"length"}],)"
                        R"("seed":18446744073709551615,"model":"m",)") +
                kEnd + R"("token_logprobs":[[-1.0,-2.0]],"top_logprobs":[[[7,-0.5],[0,-0.75]]],)" +
                kTimings);
}

TEST(ChunkedResponseJson, OmitsWhatWasNotAskedFor) {
  v1::ChunkedResponse response;
  SetEnd(response);
  const std::string begin = R"({"object":"chunked",)";
  EXPECT_EQ(ResponseJson(response), begin + R"("model":"m",)" + kEnd + kTimings);
  response.set_seed(0);
  EXPECT_EQ(ResponseJson(response), begin + R"("seed":0,"model":"m",)" + kEnd + kTimings);
}

TEST(PairScoreResponseJson, IsVllms) {
  v1::PairScoreResponse response;
  SetEnd(response);
  response.set_id("score-1");
  response.set_created(1'700'000'000);
  response.add_data()->set_score(0.5);
  response.add_data()->set_index(1);
  EXPECT_EQ(ResponseJson(response),
            std::string(R"({"id":"score-1","object":"list","created":1700000000,"model":"m",)"
                        R"("data":[{"index":0,"object":"score","score":0.5},)"
                        R"({"index":1,"object":"score","score":0.0}],)") +
                kEnd + kTimings);
}

TEST(TokenizeResponseJson, HasNullForWhatIsAbsent) {
  v1::TokenizeResponse response;
  response.set_count(1);
  response.add_tokens(97);
  EXPECT_EQ(ResponseJson(response),
            R"({"count":1,"max_model_len":0,"tokens":[97],"token_strs":null})");
  response.mutable_token_strs();
  EXPECT_EQ(ResponseJson(response),
            R"({"count":1,"max_model_len":0,"tokens":[97],"token_strs":[]})");
  response.mutable_token_strs()->add_values("\"");
  EXPECT_EQ(ResponseJson(response),
            R"({"count":1,"max_model_len":0,"tokens":[97],"token_strs":["\""]})");
  v1::TeiTokenizeResponse inputs;
  inputs.add_inputs();
  v1::TextToken& token = *inputs.add_inputs()->add_tokens();
  token.set_start(0);
  EXPECT_EQ(ResponseJson(inputs),
            R"([[],[{"id":0,"text":"","special":false,"start":0,"stop":null}]])");
}

TEST(ErrorJson, IsFlat) {
  EXPECT_EQ(ErrorJson({400, "delimiter_in_item", "It does.", "items[3]"}, ErrorForm()),
            R"({"object":"error","message":"It does.","type":"BadRequestError",)"
            R"("param":"items[3]","code":400,"reason":"delimiter_in_item"})");
  EXPECT_EQ(ErrorJson({413, "request_too_large", "", ""}, ErrorForm()),
            R"({"object":"error","message":"","type":"BadRequestError","param":null,"code":413,)"
            R"("reason":"request_too_large"})");
  EXPECT_EQ(ErrorJson({404, "unknown_url", "None.", ""}),
            R"({"object":"error","message":"None.","type":"BadRequestError","param":null,)"
            R"("code":404,"reason":"unknown_url","error":"None.","error_type":"validation",)"
            R"("detail":"None."})");
  const auto type_of = [](int code) {
    return nlohmann::json::parse(ErrorJson({code, "", "", ""}))["type"];
  };
  EXPECT_EQ(type_of(413), "BadRequestError");
  EXPECT_EQ(type_of(408), "TimeoutError");
  EXPECT_EQ(type_of(429), "RateLimitError");
  EXPECT_EQ(type_of(499), "ClientClosedRequestError");
  EXPECT_EQ(type_of(500), "InternalServerError");
  EXPECT_EQ(type_of(503), "ServiceUnavailableError");
  EXPECT_EQ(type_of(504), "TimeoutError");
}

}  // namespace response_writer_test
}  // namespace scorecast::coordinator

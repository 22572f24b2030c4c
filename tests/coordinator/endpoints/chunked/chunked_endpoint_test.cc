#include "coordinator/endpoints/chunked/chunked_endpoint.h"

#include <cmath>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/json/response_writer.h"
#include "coordinator/prompts/sequence_layout.h"
#include "tests/coordinator/endpoints/asking.h"
#include "tests/coordinator/endpoints/fake_server.h"
#include "tests/coordinator/endpoints/response_values.h"

namespace scorecast::coordinator {
namespace chunked_endpoint_test {

using nlohmann::json;
using proto::Expected;
using proto::PackedSequence;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Ids = std::vector<TokenId>;

Expected<v1::ChunkedResponse> Ask(FakeServer& server, const json& request,
                                  Clock::time_point arrived = Clock::now()) {
  auto response =
      coordinator::Ask<v1::ChunkedResponse>(server.service, ChunkedEndpoint(), request, arrived);
  server.scheduler.WaitIdle();
  return response;
}

v1::ChunkedResponse ResponseTo(FakeServer& server, const json& request) {
  return ValueOrFail(Ask(server, request));
}

/// The log-probabilities of labels at a row of a sequence.
std::vector<double> Logprobs(PackedSequence sequence, std::int32_t row, const Ids& labels) {
  sequence.label_lists = {labels};
  const proto::RowLogits read = ExpectedRow(sequence, {row, 0, true, 0}, FakeServer::kVocabSize);
  std::vector<double> logprobs;
  for (const float logit : read.label_logits) {
    logprobs.push_back(static_cast<double>(logit) - static_cast<double>(read.max) -
                       std::log(read.sum_exp));
  }
  return logprobs;
}

const Ids kLabels = {5, 6, 7};

json Example() {
  json request;
  request["system_prompt"] = Ids{11, 12, 13};
  request["chunks"] = {Ids{21, 22}, Ids{}, Ids{23, 24, 25}};
  request["question"] = Ids{31, 32};
  request["label_token_ids"] = kLabels;
  request["return_token_logprobs"] = true;
  return request;
}

TEST(ChunkedEndpoint, AQuestionSeesEverythingAndAChunkSeesNoOtherChunk) {
  for (const auto strategy : {ChunkPositionStrategy::kShared, ChunkPositionStrategy::kOffset}) {
    ServerOptions options;
    options.chunks.position_strategy = strategy;
    FakeServer server(options);
    const v1::ChunkedResponse response = ResponseTo(server, Example());
    const PackedSequence expected =
        PackChunks({11, 12, 13}, {{{21, 22}}, {{23, 24, 25}}}, {{31, 32}}, strategy);
    EXPECT_THAT(RowsOf(response.token_logprobs()), ElementsAre(Logprobs(expected, 9, kLabels)));
    ASSERT_EQ(response.scores_size(), 1);
    for (int i = 0; i < static_cast<int>(kLabels.size()); ++i) {
      EXPECT_EQ(response.scores(0).values(i), std::exp(response.token_logprobs(0).values(i)));
    }
    EXPECT_EQ(response.usage().prompt_tokens(), 10);
    EXPECT_EQ(response.usage().total_tokens(), 10);
    EXPECT_EQ(response.model(), "default");
    EXPECT_EQ(response.outputs_size(), 0);
    EXPECT_EQ(response.top_logprobs_size(), 0);
  }
}

TEST(ChunkedEndpoint, SeveralQuestionsDoNotSeeEachOther) {
  FakeServer server;
  json request = Example();
  request.erase("question");
  request["questions"] = {Ids{31, 32}, Ids{33}, Ids{31, 32}};
  request["top_logprobs"] = 2;
  const v1::ChunkedResponse together = ResponseTo(server, request);
  ASSERT_EQ(together.scores_size(), 3);
  ASSERT_EQ(together.top_logprobs_size(), 3);
  for (int i = 0; i < 3; ++i) {
    json alone = request;
    alone.erase("questions");
    alone["question"] = request["questions"][static_cast<std::size_t>(i)];
    const v1::ChunkedResponse response = ResponseTo(server, alone);
    EXPECT_EQ(NumbersOf(together.token_logprobs(i)), NumbersOf(response.token_logprobs(0)));
    EXPECT_EQ(NumbersOf(together.scores(i)), NumbersOf(response.scores(0)));
    EXPECT_EQ(TopOf(together.top_logprobs(i)), TopOf(response.top_logprobs(0)));
  }
  EXPECT_NE(NumbersOf(together.scores(0)), NumbersOf(together.scores(1)));
}

TEST(ChunkedEndpoint, OneChunkAndOneQuestionAreAPlainPrompt) {
  FakeServer server;
  json request;
  request["labels"] = {" yes", " no"};
  request["prompt"] = "system # # chunk # # question";
  const v1::ChunkedResponse split = ResponseTo(server, request);
  request["prompt"] = "systemchunkquestion";
  EXPECT_EQ(RowsOf(ResponseTo(server, request).scores()), RowsOf(split.scores()));
  FakeServer plain{ServerOptions{}};  // Without the flag separators are ordinary text.
  request["prompt"] = "system # # chunk # # question";
  const v1::ChunkedResponse whole = ResponseTo(plain, request);
  EXPECT_NE(RowsOf(whole.scores()), RowsOf(split.scores()));
  EXPECT_EQ(whole.usage().prompt_tokens(), split.usage().prompt_tokens() + 10);
}

TEST(ChunkedEndpoint, LongDocumentsTakeSeveralPasses) {
  FakeServer server;  // 64 rows in a pass.
  json request = Example();
  std::vector<ChunkGroup> groups;
  request["chunks"] = json::array();
  for (TokenId i = 0; i < 5; ++i) {
    groups.push_back({Ids(50, 40 + i)});
    request["chunks"].push_back(Ids(50, 40 + i));
  }
  const v1::ChunkedResponse response = ResponseTo(server, request);
  EXPECT_GT(server.cluster.plans().size(), 3U);
  const PackedSequence expected =
      PackChunks({11, 12, 13}, groups, {{31, 32}}, ChunkPositionStrategy::kShared);
  EXPECT_THAT(RowsOf(response.token_logprobs()), ElementsAre(Logprobs(expected, 254, kLabels)));
}

TEST(ChunkedEndpoint, SoftmaxOverTheLabels) {
  FakeServer server;
  json request = Example();
  const std::vector<double> logprobs = NumbersOf(ResponseTo(server, request).token_logprobs(0));
  request["return_token_logprobs"] = false;
  request["apply_softmax"] = true;
  request["label_temperature"] = 0.5;
  const v1::ChunkedResponse response = ResponseTo(server, request);
  EXPECT_EQ(response.token_logprobs_size(), 0);
  double sum = 0;
  for (const double logprob : logprobs) {
    sum += std::exp(logprob / 0.5);
  }
  for (std::size_t i = 0; i < logprobs.size(); ++i) {
    // A few roundings of float64, in terms of magnitude at most 50 that are then exponentiated.
    EXPECT_NEAR(response.scores(0).values(static_cast<int>(i)), std::exp(logprobs[i] / 0.5) / sum,
                1e-13);
  }
}

TEST(ChunkedEndpoint, ABrokenModelGivesA500ThatNamesTheQuestion) {
  FakeServer server;
  server.cluster.BreakToken(33);
  json request = Example();
  request["question"] = Ids{31, 33};
  auto response = Ask(server, request);
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code, 500);
  EXPECT_EQ(response.error().reason, "not_finite");
  EXPECT_EQ(response.error().param, "question");
  request.erase("question");
  request["questions"] = {Ids{31}, Ids{33}};
  response = Ask(server, request);
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().param, "questions[1]");
  EXPECT_EQ(ResponseTo(server, Example()).scores_size(), 1) << "the server goes on";
}

TEST(ChunkedEndpoint, ADeadlineCountsFromTheArrival) {
  FakeServer server;
  json request = Example();
  request["timeout_ms"] = 1000;
  const auto response = Ask(server, request, Clock::now() - std::chrono::seconds(2));
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code, 504);
  EXPECT_THAT(server.cluster.plans(), IsEmpty());
}

TEST(ChunkedJson, HasTheFieldsThatWereAskedFor) {
  FakeServer server;
  const auto call = std::make_shared<AskingCall>();
  auto body = ParseJson(R"({"system_prompt":[11],"chunks":[[21,22]],"question":[31],)"
                        R"("label_token_ids":[5,6],"return_token_logprobs":true,"top_logprobs":2,)"
                        R"("model":"mine","cache_salt":"tenant"})",
                        1000);
  Begin(server.service, ChunkedEndpoint(), ChunkedEndpoint().FromJson(*std::move(body)), call);
  const auto response = call->Wait().Respond();
  server.scheduler.WaitIdle();
  ASSERT_TRUE(response) << response.error().message;
  const OrderedJson own = JsonOf(**response);
  std::vector<std::string> fields;
  for (const auto& [field, value] : own.items()) {
    fields.push_back(field);
  }
  EXPECT_THAT(fields, ElementsAre("object", "scores", "model", "usage", "token_logprobs",
                                  "top_logprobs", "timings"));
  EXPECT_EQ(own["object"], "chunked");
  EXPECT_EQ(own["model"], "mine");
  EXPECT_EQ(own["usage"].dump(),
            R"({"prompt_tokens":4,"total_tokens":4,"completion_tokens":0,"cached_tokens":0})");
  json request;
  request["system_prompt"] = Ids{11};
  request["chunks"] = {Ids{21, 22}};
  request["question"] = Ids{31};
  request["label_token_ids"] = Ids{5, 6};
  request["return_token_logprobs"] = true;
  request["top_logprobs"] = 2;
  const v1::ChunkedResponse expected = ResponseTo(server, request);
  EXPECT_EQ(own["scores"], OrderedJson(RowsOf(expected.scores())));
  EXPECT_EQ(own["token_logprobs"], OrderedJson(RowsOf(expected.token_logprobs())));
  EXPECT_EQ(own["top_logprobs"][0][1][0], expected.top_logprobs(0).entries(1).id());
  EXPECT_EQ(own["top_logprobs"][0][1][1], expected.top_logprobs(0).entries(1).logprob());
}

TEST(ChunkedJson, HasCompletions) {
  v1::ChunkedResponse response;
  v1::ChunkedOutput& stopped = *response.add_outputs();
  stopped.set_text("Paris.");
  stopped.add_token_ids(9);
  stopped.add_token_ids(8);
  stopped.set_finish_reason("stop");
  v1::ChunkedOutput& cut = *response.add_outputs();
  cut.add_token_ids(7);
  cut.set_finish_reason("length");
  response.mutable_usage()->set_prompt_tokens(5);
  response.mutable_usage()->set_total_tokens(8);
  response.mutable_usage()->set_completion_tokens(3);
  response.mutable_usage()->set_cached_tokens(2);
  const OrderedJson body = OrderedJson::parse(ResponseJson(response));
  EXPECT_FALSE(body.contains("scores"));
  EXPECT_EQ(body["outputs"].dump(),
            R"([{"text":"Paris.","token_ids":[9,8],"finish_reason":"stop"},)"
            R"({"text":"","token_ids":[7],"finish_reason":"length"}])");
  EXPECT_EQ(body["usage"].dump(),
            R"({"prompt_tokens":5,"total_tokens":8,"completion_tokens":3,"cached_tokens":2})");
}

}  // namespace chunked_endpoint_test
}  // namespace scorecast::coordinator

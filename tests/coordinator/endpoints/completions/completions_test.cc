// /v1/completions, computed by FakeCluster's model.

#include <array>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/endpoints/chunked/chunked_endpoint.h"
#include "coordinator/endpoints/completions/completions_endpoint.h"
#include "coordinator/prompts/sequence_layout.h"
#include "proto/scorecast.pb.h"
#include "tests/coordinator/endpoints/asking.h"
#include "tests/coordinator/endpoints/fake_server.h"
#include "tests/coordinator/endpoints/greedy_completion.h"
#include "tests/coordinator/endpoints/validation.h"

namespace scorecast::coordinator {
namespace completions_test {

using nlohmann::json;
using proto::Expected;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;
using Ids = std::vector<TokenId>;

Expected<v1::CompletionsResponse> Ask(FakeServer& server, const json& request,
                                      const OnDelta& on_delta = {}) {
  auto response = coordinator::Ask<v1::CompletionsResponse>(server.service, CompletionsEndpoint(),
                                                            request, Clock::now(), on_delta);
  server.scheduler.WaitIdle();
  return response;
}

/// [choices] The generated ids of a request, which returns them.
std::vector<Ids> IdsOf(FakeServer& server, json request) {
  request["return_token_ids"] = true;
  std::vector<Ids> ids;
  const v1::CompletionsResponse response = ValueOrFail(Ask(server, request));
  for (const v1::Completion& choice : response.choices()) {
    EXPECT_EQ(choice.index(), static_cast<std::int64_t>(ids.size()));
    ids.emplace_back(choice.token_ids().begin(), choice.token_ids().end());
  }
  return ids;
}

Ids Greedy(const Ids& prompt, std::size_t n) {
  return GreedyCompletion(PackChunks(prompt, {}, {}, ChunkPositionStrategy::kShared), n,
                          FakeServer::kVocabSize);
}

/// The fake tokenizer's ids of a text, with BOS.
Ids Prompt(const std::string& text) {
  Ids ids = {259};
  ids.insert(ids.end(), text.begin(), text.end());
  return ids;
}

TEST(Completions, TextsAndIdsAreContinued) {
  FakeServer server;
  const Ids ids = {11, 12, 13};
  const json prompts = json::array({"once upon", ids});
  EXPECT_THAT(IdsOf(server, {{"prompt", prompts}, {"max_tokens", 5}, {"temperature", 0}}),
              ElementsAre(Greedy(Prompt("once upon"), 5), Greedy(ids, 5)));
  EXPECT_THAT(IdsOf(server, {{"prompt", "once upon"}, {"temperature", 0}}),
              ElementsAre(Greedy(Prompt("once upon"), 16)))
      << "16 tokens by default";
  EXPECT_THAT(IdsOf(server, {{"prompt", ids}, {"temperature", 0}, {"max_tokens", 1}}),
              ElementsAre(Greedy(ids, 1)));
}

TEST(Completions, APromptIsComputedOnceForAllItsCompletions) {
  FakeServer server;
  const json request = {{"prompt", json::array({"once upon", "a time"})},
                        {"max_tokens", 3},
                        {"temperature", 0},
                        {"n", 2},
                        {"best_of", 2}};
  const Ids first = Greedy(Prompt("once upon"), 3);
  const Ids second = Greedy(Prompt("a time"), 3);
  EXPECT_THAT(IdsOf(server, request), ElementsAre(first, first, second, second));
  const v1::CompletionsResponse response = ValueOrFail(Ask(server, request));
  EXPECT_EQ(response.usage().prompt_tokens(), 10 + 7);
  EXPECT_EQ(response.usage().completion_tokens(), 12);
  EXPECT_FALSE(response.has_seed()) << "nothing is drawn";
}

TEST(Completions, CompletionIIsThatOfTheSeedPlusI) {
  FakeServer server;
  json request = {{"prompt", "once upon"}, {"max_tokens", 9}, {"seed", 5}, {"n", 3}};
  const std::vector<Ids> together = IdsOf(server, request);
  ASSERT_THAT(together, SizeIs(3));
  EXPECT_NE(together[0], together[1]);
  request["n"] = 1;
  for (int i = 0; i < 3; ++i) {
    request["seed"] = 5 + i;
    EXPECT_THAT(IdsOf(server, request), ElementsAre(together[i]));
  }
  request["seed"] = -1;
  const v1::CompletionsResponse drawn = ValueOrFail(Ask(server, request));
  request["seed"] = drawn.seed();
  EXPECT_EQ(ValueOrFail(Ask(server, request)).choices(0).text(), drawn.choices(0).text());
}

TEST(Completions, ThePromptIsEchoed) {
  FakeServer server;
  json request = {{"prompt", "once upon"}, {"max_tokens", 4}, {"temperature", 0}, {"n", 2}};
  const std::string completion = ValueOrFail(Ask(server, request)).choices(0).text();
  request["echo"] = true;
  const v1::CompletionsResponse response = ValueOrFail(Ask(server, request));
  EXPECT_EQ(response.choices(0).text(), "once upon" + completion);
  EXPECT_EQ(response.choices(1).text(), "once upon" + completion);
  EXPECT_EQ(response.usage().completion_tokens(), 8);
  std::string streamed;
  request.update({{"stream", true}, {"n", 1}});
  ASSERT_TRUE(
      Ask(server, request, [&](std::size_t, CompletionDelta delta) { streamed += delta.text; }));
  EXPECT_EQ(streamed, "once upon" + completion);
}

TEST(Completions, APromptWithSeparatorsIsThatOfChunked) {
  FakeServer server;
  const std::string prompt = "s # # ab # # cde # # why?";
  const v1::ChunkedResponse chunked = ValueOrFail(coordinator::Ask<v1::ChunkedResponse>(
      server.service, ChunkedEndpoint(), {{"prompt", prompt}, {"max_new_tokens", 6}}));
  const Ids expected(chunked.outputs(0).token_ids().begin(), chunked.outputs(0).token_ids().end());
  json request = {{"prompt", prompt}, {"max_tokens", 6}, {"temperature", 0}, {"n", 2}};
  EXPECT_THAT(IdsOf(server, request), ElementsAre(expected, expected));
  EXPECT_EQ(ValueOrFail(Ask(server, request)).usage().prompt_tokens(),
            chunked.usage().prompt_tokens())
      << "the question counts once";
  request["chunk_aware"] = false;
  const Ids whole = Greedy(Prompt(prompt), 6);
  EXPECT_THAT(IdsOf(server, request), ElementsAre(whole, whole));
  request.update({{"chunk_aware", true}, {"echo", true}});
  EXPECT_EQ(Ask(server, request).error().param, "echo");
}

TEST(Completions, TheResponseIsOpenAis) {
  const CheckingServer server;
  PreparedRequest prepared = ValueOrFail(PrepareBody(
      CompletionsEndpoint(), R"({"prompt":"p","max_tokens":1,"temperature":0})", server.context()));
  proto::RowLogits row;
  row.top = {{97, 1.0F}};
  prepared.generations.front().chooser->Take(row);
  const auto response = ValueOrFail(prepared.readout->Respond({}));
  response->Complete("m", {.usage = {.prompt_tokens = 2, .cached_tokens = 1}});
  OrderedJson body = JsonOf(*response);
  EXPECT_THAT(body.at("id").get<std::string>(), StartsWith("cmpl-"));
  EXPECT_GT(body.at("created"), 1'700'000'000);
  body["id"] = "i";
  body["created"] = 0;
  body.erase("timings");
  EXPECT_EQ(body.dump(),
            R"({"id":"i","object":"text_completion","created":0,"model":"m",)"
            R"("choices":[{"index":0,"text":"a","logprobs":null,"finish_reason":"length"}],)"
            R"("usage":{"prompt_tokens":2,"completion_tokens":1,"total_tokens":3,)"
            R"("prompt_tokens_details":{"cached_tokens":1}}})");
}

TEST(Completions, AStreamHasChunksAndOnRequestTheUsage) {
  const CheckingServer server;
  for (const bool with_usage : {false, true}) {
    const PreparedRequest prepared = ValueOrFail(
        PrepareBody(CompletionsEndpoint(),
                    std::string(R"({"prompt":"p","max_tokens":1,"stream":true,"stream_options":)") +
                        (with_usage ? R"({"include_usage":true}})" : "null}"),
                    server.context()));
    const auto delta = prepared.form_delta(1, {"ab", {97, 98}, std::nullopt});
    delta->SetModel("m");
    const OrderedJson chunk = JsonOf(*delta);
    EXPECT_EQ(chunk.at("choices").dump(),
              R"([{"index":1,"text":"ab","logprobs":null,"finish_reason":null}])");
    EXPECT_EQ(chunk.at("object"), "text_completion");
    EXPECT_EQ(chunk.at("model"), "m");
    EXPECT_TRUE(chunk.at("usage").is_null());
    const OrderedJson last_chunk = JsonOf(*prepared.form_delta(0, {"", {}, FinishReason::kStop}));
    EXPECT_EQ(last_chunk.at("choices").at(0).at("finish_reason"), "stop");
    const auto response = ValueOrFail(prepared.readout->Respond({}));
    EXPECT_EQ(response->is_event(), with_usage);
    response->Complete("m", {.usage = {.prompt_tokens = 2}});
    EXPECT_THAT(JsonOf(*response).at("choices"), IsEmpty()) << "the deltas have them";
    EXPECT_EQ(JsonOf(*response).at("id"), chunk.at("id"));
    EXPECT_EQ(JsonOf(*response).at("usage").at("prompt_tokens"), 2);
  }
}

TEST(Completions, ErrorsAreOpenAis) {
  const CheckingServer server;
  const auto prepared =
      PrepareBody(CompletionsEndpoint(), R"({"prompt":"p","suffix":"s"})", server.context());
  ASSERT_FALSE(prepared);
  const auto body = OrderedJson::parse(CompletionsEndpoint().ErrorToJson(prepared.error()));
  EXPECT_THAT(body.at("error").at("message").get<std::string>(), HasSubstr("suffix"));
  EXPECT_EQ(body.at("error").at("type"), "invalid_request_error");
  EXPECT_EQ(body.at("error").at("param"), "suffix");
  EXPECT_EQ(body.at("error").at("code"), "not_supported");
}

struct Server : CheckingServer {
  auto Prepare(const std::string& body) const {
    return PrepareBody(CompletionsEndpoint(), body, context());
  }
};

class CompletionsValidation : public ValidationTest<Server> {};

TEST_F(CompletionsValidation, APromptThatIsTooLongSaysWhichFieldCutsIt) {
  const auto prompt = [](std::size_t length, const std::string& more = "") {
    return R"({"max_tokens":1,"prompt":")" + std::string(length, 'x') + "\"" + more + "}";
  };
  ExpectRefused({}, prompt(200), "too_many_positions", "prompt",
                "201 > 64 (system prompt 201, with chunks and questions 201, completions 0). "
                "truncate_prompt_tokens=-1 cuts the prompt.");
  ExpectAccepted({}, prompt(200, R"(,"truncate_prompt_tokens":-1)"));
  ExpectRefused(
      {}, prompt(10'000), "too_many_positions", "prompt",
      "Too many positions: more than 320 > 64. truncate_prompt_tokens=-1 cuts the prompt.");
  ExpectRefused({}, prompt(200, R"(,"echo":true)"), "too_many_positions", "prompt",
                "Nothing is cut: send less.");
}

TEST_F(CompletionsValidation, FieldsOutOfRangeAreRefused) {
  const std::array<std::array<std::string, 3>, 15> cases = {{
      {R"({})", "missing_field", "prompt"},
      {R"({"prompt":[]})", "empty_prompt", "prompt"},
      {R"({"prompt":["a",[]]})", "empty_prompt", "prompt[1]"},
      {R"({"prompt":[[1],[300]]})", "token_out_of_vocabulary", "prompt[1]"},
      {R"({"prompt":"p","max_tokens":-1})", "max_tokens_out_of_range", "max_tokens"},
      {R"({"prompt":"p","max_tokens":65})", "max_tokens_out_of_range", "max_tokens"},
      {R"({"prompt":"p","max_tokens":64})", "too_many_positions", "max_tokens"},
      {R"({"prompt":"p","n":0})", "n_out_of_range", "n"},
      {R"({"prompt":"p","n":129})", "n_out_of_range", "n"},
      {R"({"prompt":"p","n":2,"best_of":3})", "not_supported", "best_of"},
      {R"({"prompt":"p","best_of":2})", "not_supported", "best_of"},
      {R"({"prompt":"p","temperature":-1})", "temperature_out_of_range", "temperature"},
      {R"({"prompt":"p","stream_options":{}})", "stream_options_without_stream", "stream_options"},
      {R"({"prompt":"p","stop":""})", "empty_stop", "stop[0]"},
      {R"({"prompt":"p","chunk_groups":[1]})", "bad_chunk_groups", "chunk_groups[0]"},
  }};
  for (const auto& [body, reason, param] : cases) {
    ExpectRefused({}, body, reason, param);
  }
}

TEST_F(CompletionsValidation, WhatIsNotSupportedIsRefusedByName) {
  for (const char* const field :
       {R"("suffix":"s")", R"("use_beam_search":true)", R"("guided_json":{})",
        R"("prompt_embeds":"a")", R"("response_format":{"type":"json_object"})"}) {
    const std::string text = field;
    ExpectRefused({}, R"({"prompt":"p",)" + text + "}", "not_supported",
                  text.substr(1, text.find(':') - 2));
  }
  ExpectAccepted({}, R"({"prompt":"p","suffix":null,"presence_penalty":0,"frequency_penalty":0.0,)"
                     R"("repetition_penalty":1,"logit_bias":{},"logprobs":null,"best_of":1,"n":1,)"
                     R"("user":"u","top_k":-1,"min_p":0,"min_tokens":0,"stop":null,)"
                     R"("stream_options":null,"seed":null,"skip_special_tokens":false})");
}

TEST(CompletionsBytes, OfAPromptCountOnlyIfTheyAreReturned) {
  const auto bound = [](json fields) {
    fields["prompt"] = Ids(100'000, 1);
    fields["max_tokens"] = 1;
    proto::ModelConfig config;
    config.max_position_embeddings = 200'000;
    return ReadFrom<v1::CompletionsRequest>(CompletionsEndpoint().FromJson(fields))
        .ResponseBytesBound(config);
  };
  EXPECT_LT(bound(json::object()), 100'000);
  EXPECT_GT(bound({{"prompt_logprob_token_ids", {7}}}), 1'000'000);
  EXPECT_GT(bound({{"echo", true}}), 1'000'000);
}

}  // namespace completions_test
}  // namespace scorecast::coordinator

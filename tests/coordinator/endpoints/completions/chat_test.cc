// /v1/chat/completions, computed by FakeCluster's model.

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/endpoints/completions/chat_endpoint.h"
#include "coordinator/endpoints/completions/completions_endpoint.h"
#include "coordinator/json/json_text.h"
#include "coordinator/prompts/sequence_layout.h"
#include "proto/scorecast.pb.h"
#include "tests/coordinator/endpoints/asking.h"
#include "tests/coordinator/endpoints/chat_server.h"
#include "tests/coordinator/endpoints/fake_server.h"
#include "tests/coordinator/endpoints/greedy_completion.h"
#include "tests/coordinator/endpoints/validation.h"

namespace scorecast::coordinator {
namespace chat_test {

using nlohmann::json;
using proto::Expected;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using Ids = std::vector<TokenId>;

Expected<v1::CompletionsResponse> Ask(FakeServer& server, const json& request,
                                      const OnDelta& on_delta = {}) {
  auto response = coordinator::Ask<v1::CompletionsResponse>(server.service, ChatEndpoint(), request,
                                                            Clock::now(), on_delta);
  server.scheduler.WaitIdle();
  return response;
}

/// [choices] The generated ids of a request, which returns them.
std::vector<Ids> IdsOf(FakeServer& server, json request) {
  request["return_token_ids"] = true;
  std::vector<Ids> ids;
  const v1::CompletionsResponse response = ValueOrFail(Ask(server, request));
  for (const v1::Completion& choice : response.choices()) {
    ids.emplace_back(choice.token_ids().begin(), choice.token_ids().end());
  }
  return ids;
}

/// The completion of a rendered conversation, which begins with BOS.
Ids Greedy(const std::string& rendered, std::size_t n) {
  Ids ids = {kChatBos};
  ids.insert(ids.end(), rendered.begin(), rendered.end());
  return GreedyCompletion(PackChunks(ids, {}, {}, ChunkPositionStrategy::kShared), n,
                          FakeServer::kVocabSize);
}

json Message(const std::string& role, const json& content) {
  return {{"role", role}, {"content", content}};
}

/// A greedy request for three tokens.
json Request(const json& messages, const json& more = json::object()) {
  json request = {{"messages", messages}, {"max_tokens", 3}, {"temperature", 0}};
  request.update(more);
  return request;
}

TEST(Chat, AConversationIsAPrompt) {
  FakeServer server(WithChat());
  const json hello = json::array({Message("user", "hello")});
  EXPECT_THAT(IdsOf(server, Request(hello)), ElementsAre(Greedy("<user>hello</><assistant>", 3)));
  EXPECT_THAT(IdsOf(server, Request(hello, {{"add_generation_prompt", false}})),
              ElementsAre(Greedy("<user>hello</>", 3)));
  const json turns = json::array({Message("developer", "rules"), Message("user", "a"),
                                  Message("assistant", nullptr), Message("user", "b")});
  EXPECT_THAT(
      IdsOf(server, Request(turns)),
      ElementsAre(Greedy("<system>rules</><user>a</><assistant></><user>b</><assistant>", 3)));
  const json parts =
      json::array({Message("user", json::array({{{"type", "text"}, {"text", "x"}},
                                                {{"type", "text"}, {"text", "y"}}}))});
  EXPECT_THAT(IdsOf(server, Request(parts)), ElementsAre(Greedy("<user>x\ny</><assistant>", 3)));
  EXPECT_THAT(IdsOf(server, Request(hello, {{"chat_template_kwargs", {{"mood", "glad"}}}})),
              ElementsAre(Greedy("<user>hello</><assistant>glad", 3)));
  const json open = json::array({Message("user", "q"), Message("assistant", "It is ")});
  EXPECT_THAT(IdsOf(server, Request(open, {{"add_generation_prompt", false},
                                           {"continue_final_message", true}})),
              ElementsAre(Greedy("<user>q</><assistant>It is ", 3)));
}

constexpr const char* kReader =
    "{{ bos_token }}{% for m in messages %}<{{ m.role }}{{ m.name }}>"
    "{{ m.reasoning_content }}{{ m.content }}{% endfor %}";

TEST(Chat, MembersThatTheTemplateReadsAreRendered) {
  FakeServer server(WithChatTemplate(kReader));
  json user = Message("user", "q");
  user["name"] = "Ann";
  json assistant = Message("assistant", "a");
  assistant["reasoning_content"] = "so ";
  assistant["name"] = nullptr;
  const json turns = json::array({user, assistant});
  EXPECT_THAT(IdsOf(server, Request(turns)), ElementsAre(Greedy("<userAnn>q<assistant>so a", 3)));
  assistant.erase("reasoning_content");
  assistant["reasoning"] = "hm ";
  EXPECT_THAT(IdsOf(server, Request(json::array({assistant}))),
              ElementsAre(Greedy("<assistant>hm a", 3)));
  FakeServer other(WithChat());
  EXPECT_THAT(IdsOf(other, Request(turns)),
              ElementsAre(Greedy("<user>q</><assistant>a</><assistant>", 3)));
}

TEST(Chat, MembersThatTheTemplateDoesNotReadChangeNothing) {
  json user = Message("user", "q");
  user["name"] = "Ann";
  user["refusal"] = nullptr;
  for (int i = 0; i < 3000; ++i) {
    user["metadata"].push_back({{"a", i}});
  }
  for (int i = 0; i < 300; ++i) {
    user["x" + std::to_string(i)] = i;
  }
  FakeServer server(WithChatTemplate(kReader));
  EXPECT_THAT(IdsOf(server, Request(json::array({user}))), ElementsAre(Greedy("<userAnn>q", 3)));
  const auto fault_of = [&](const std::string& source) {
    FakeServer reader(WithChatTemplate(source));
    const auto response = Ask(reader, Request(json::array({user})));
    return response ? "none" : response.error().reason + " " + response.error().param;
  };
  EXPECT_EQ(fault_of("{{ messages[0].metadata | tojson }}"),
            "too_many_values messages[0].metadata");
  user["metadata"] = std::vector<int>(600'000, 1);
  EXPECT_EQ(fault_of("{{ messages[0].metadata | length }}"),
            "members_too_long messages[0].metadata");
  user.erase("metadata");
  EXPECT_EQ(fault_of("{{ messages[0] | tojson }}"), "too_many_members messages[0]");
}

TEST(Chat, ATemplateMayGoThroughAllMembers) {
  FakeServer server(
      WithChatTemplate("{{ bos_token }}{% for k, v in messages[0].items() %}{{ k }}={{ v }},"
                       "{% endfor %}{{ messages[0]['we' ~ 'ight'] }}"));
  json user = Message("user", "q");
  user["weight"] = 2.50;
  EXPECT_THAT(IdsOf(server, Request(json::array({user}))),
              ElementsAre(Greedy("role=user,content=q,weight=2.5,2.5", 3)));
}

TEST(Chat, IntegersKeepTheirDigits) {
  FakeServer server(WithChatTemplate("{{ bos_token }}{{ n }} {{ l | tojson }}"));
  const Expected<BodyJson> body = ParseJson(
      R"({"messages":[{"role":"user","content":"q"}],"max_tokens":3,"temperature":0,)"
      R"("return_token_ids":true,"chat_template_kwargs":{"n":-123456789012345678901234567890,)"
      R"("l":[18446744073709551615,9223372036854775808,1e2]}})",
      100);
  const auto call = std::make_shared<AskingCall>();
  Begin(server.service, ChatEndpoint(), ChatEndpoint().FromJson(*body), call);
  const auto response = call->Wait().Respond();
  server.scheduler.WaitIdle();
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(JsonOf(**response).at("choices").at(0).at("token_ids").get<Ids>(),
            Greedy("-123456789012345678901234567890 "
                   "[18446744073709551615, 9223372036854775808, 100.0]",
                   3));
}

TEST(Chat, TheFieldsOfCompletionsHaveTheirMeanings) {
  FakeServer server(WithChat());
  const json hello = json::array({Message("user", "hello")});
  const Ids greedy = Greedy("<user>hello</><assistant>", 6);
  EXPECT_THAT(IdsOf(server, {{"messages", hello},
                             {"max_completion_tokens", 6},
                             {"max_tokens", 6},
                             {"temperature", 0},
                             {"n", 2},
                             {"stop", json::array()}}),
              ElementsAre(greedy, greedy));
  EXPECT_THAT(IdsOf(server, Request(hello, {{"stop_token_ids", {greedy[1]}}})),
              ElementsAre(Ids(greedy.begin(), greedy.begin() + 2)));
  const json drawn = {{"messages", hello}, {"max_tokens", 9}, {"seed", 5}};
  EXPECT_EQ(IdsOf(server, drawn), IdsOf(server, drawn));
  EXPECT_EQ(ValueOrFail(Ask(server, drawn)).seed(), 5) << "temperature is 1 by default";
}

TEST(Chat, LogprobsAreThoseOfTheCompletion) {
  FakeServer server(WithChat());
  const json hello = json::array({Message("user", "hello")});
  const v1::CompletionsResponse chat =
      ValueOrFail(Ask(server, Request(hello, {{"logprobs", true},
                                              {"top_logprobs", 2},
                                              {"return_token_ids", true},
                                              {"max_tokens", 3}})));
  Ids prompt = {kChatBos};
  const std::string rendered = "<user>hello</><assistant>";
  prompt.insert(prompt.end(), rendered.begin(), rendered.end());
  const v1::CompletionsResponse completion = ValueOrFail(coordinator::Ask<v1::CompletionsResponse>(
      server.service, CompletionsEndpoint(),
      {{"prompt", prompt}, {"logprobs", 2}, {"max_tokens", 3}, {"temperature", 0}}));
  server.scheduler.WaitIdle();
  const v1::CompletionLogprobs& expected = completion.choices(0).logprobs();
  const v1::ChatLogprobs& found = chat.choices(0).chat_logprobs();
  ASSERT_EQ(found.content_size(), 3);
  for (int i = 0; i < found.content_size(); ++i) {
    const v1::ChatTokenLogprob& token = found.content(i);
    EXPECT_EQ(token.token(), expected.tokens(i));
    EXPECT_EQ(token.logprob(), expected.token_logprobs(i).value());
    ASSERT_EQ(token.top_logprobs_size(), 2);
    EXPECT_EQ(token.top_logprobs(1).logprob(), expected.top_logprobs(i).logprobs(1));
    EXPECT_EQ(token.top_logprobs(0).logprob(), token.logprob()) << "the best token was chosen";
    EXPECT_EQ(std::string(token.bytes().begin(), token.bytes().end()), token.token());
  }
  EXPECT_FALSE(ValueOrFail(Ask(server, Request(hello, {{"logprobs", false}})))
                   .choices(0)
                   .has_chat_logprobs());
}

TEST(Chat, WithoutALimitThereIsAsMuchAsHasRoom) {
  FakeServer server(WithChat());
  const v1::CompletionsResponse response =
      ValueOrFail(Ask(server, {{"messages", json::array({Message("user", std::string(480, 'x'))})},
                               {"temperature", 0},
                               {"ignore_eos", true}}));
  EXPECT_EQ(response.usage().prompt_tokens() + response.usage().completion_tokens(),
            FakeServer::Config().max_position_embeddings);
  EXPECT_EQ(response.choices(0).finish_reason(), "length");
}

struct Server : CheckingServer {
  Server() {
    options_ = WithChat();
    config_.max_position_embeddings = 200;
  }

  auto Prepare(const std::string& body) const {
    return PrepareBody(ChatEndpoint(), body, context());
  }
};

TEST(Chat, TheResponseIsOpenAis) {
  const Server server;
  PreparedRequest prepared = ValueOrFail(server.Prepare(
      R"({"messages":[{"role":"user","content":"p"}],"max_tokens":1,"temperature":0})"));
  proto::RowLogits row;
  row.top = {{97, 1.0F}};
  prepared.generations.front().chooser->Take(row);
  const auto response = ValueOrFail(prepared.readout->Respond({}));
  response->Complete("m", {.usage = {.prompt_tokens = 2, .cached_tokens = 1}});
  OrderedJson body = JsonOf(*response);
  EXPECT_THAT(body.at("id").get<std::string>(), StartsWith("chatcmpl-"));
  body["id"] = "i";
  body["created"] = 0;
  body.erase("timings");
  EXPECT_EQ(body.dump(), R"({"id":"i","object":"chat.completion","created":0,"model":"m",)"
                         R"("choices":[{"index":0,"message":{"role":"assistant","content":"a"},)"
                         R"("logprobs":null,"finish_reason":"length"}],)"
                         R"("usage":{"prompt_tokens":2,"completion_tokens":1,"total_tokens":3,)"
                         R"("prompt_tokens_details":{"cached_tokens":1}}})");
}

TEST(Chat, AStreamBeginsEachChoiceWithTheRole) {
  const Server server;
  const PreparedRequest prepared = ValueOrFail(
      server.Prepare(R"({"messages":[{"role":"user","content":"p"}],"max_tokens":2,"n":2,)"
                     R"("stream":true,"stream_options":{"include_usage":true}})"));
  const auto choice = [&](std::size_t index, CompletionDelta delta) {
    const OrderedJson chunk = JsonOf(*prepared.form_delta(index, std::move(delta)));
    EXPECT_EQ(chunk.at("object"), "chat.completion.chunk");
    EXPECT_TRUE(chunk.at("usage").is_null());
    return chunk.at("choices").dump();
  };
  EXPECT_EQ(choice(1, {"ab", {97, 98}, std::nullopt}),
            R"([{"index":1,"delta":{"role":"assistant","content":"ab"},"logprobs":null,)"
            R"("finish_reason":null}])");
  EXPECT_EQ(choice(1, {"c", {99}, FinishReason::kStop}),
            R"([{"index":1,"delta":{"content":"c"},"logprobs":null,"finish_reason":"stop"}])");
  EXPECT_THAT(choice(0, {"d", {100}, std::nullopt}), HasSubstr("assistant"));
  const auto response = ValueOrFail(prepared.readout->Respond({}));
  EXPECT_TRUE(response->is_event());
  response->Complete("m", {.usage = {.prompt_tokens = 2}});
  const OrderedJson last = JsonOf(*response);
  EXPECT_EQ(last.at("object"), "chat.completion.chunk");
  EXPECT_THAT(last.at("choices"), IsEmpty()) << "the deltas have them";
  EXPECT_EQ(last.at("usage").at("prompt_tokens"), 2);
}

TEST(Chat, FieldsOfBothRequestsHaveTheSameNumbers) {
  const google::protobuf::Descriptor& completions = *v1::CompletionsRequest::descriptor();
  int shared = 0;
  for (int i = 0; i < v1::ChatRequest::descriptor()->field_count(); ++i) {
    const google::protobuf::FieldDescriptor& field = *v1::ChatRequest::descriptor()->field(i);
    const google::protobuf::FieldDescriptor* other = completions.FindFieldByName(field.name());
    if (other == nullptr ||
        field.name() == "logprobs") {  // It has another type, and is translated.
      EXPECT_EQ(completions.FindFieldByNumber(field.number()), nullptr) << field.name();
      continue;
    }
    ++shared;
    EXPECT_EQ(field.number(), other->number()) << field.name();
    EXPECT_EQ(field.type(), other->type()) << field.name();
    EXPECT_EQ(field.is_repeated(), other->is_repeated()) << field.name();
  }
  EXPECT_GE(shared, 16);
}

class ChatValidation : public ValidationTest<Server> {};

TEST_F(ChatValidation, FaultsAreNamed) {
  const std::string hello = R"({"messages":[{"role":"user","content":"p"}])";
  const std::array<std::array<std::string, 3>, 19> cases = {{
      {"{}", "missing_field", "messages"},
      {R"({"messages":[]})", "empty_conversation", "messages"},
      {R"({"messages":"p"})", "wrong_type", "messages"},
      {R"({"messages":[{"content":"p"}]})", "missing_field", "messages[0].role"},
      {R"({"messages":[{"role":"tool","content":"p"}]})", "unknown_role", "messages[0].role"},
      {R"({"messages":[{"role":"user","content":7}]})", "wrong_type", "messages[0].content"},
      {R"({"messages":[{"role":"user","content":[{"type":"image_url","text":""}]}]})",
       "not_supported", "messages[0].content[0].type"},
      {R"({"messages":[{"role":"user","content":[{"type":"image_url","image_url":{}}]}]})",
       "not_supported", "messages[0].content[0].image_url"},
      {R"({"messages":[{"role":"assistant","tool_calls":[{}]}]})", "not_supported",
       "messages[0].tool_calls"},
      {R"({"messages":[{"role":"user","content":"refuse"}]})", "conversation_refused", "messages"},
      {hello + R"(,"max_tokens":0})", "max_tokens_out_of_range", "max_tokens"},
      {hello + R"(,"max_completion_tokens":0})", "max_completion_tokens_out_of_range",
       "max_completion_tokens"},
      {hello + R"(,"max_tokens":5,"max_completion_tokens":6})", "given_twice", "max_tokens"},
      {hello + R"(,"max_tokens":190})", "too_many_positions", "max_tokens"},
      {hello + R"(,"continue_final_message":true})",
       "continue_final_message_with_generation_prompt", "continue_final_message"},
      {hello + R"(,"chat_template_kwargs":{"messages":[]}})", "not_supported",
       "chat_template_kwargs.messages"},
      {hello + R"(,"top_logprobs":3})", "top_logprobs_without_logprobs", "top_logprobs"},
      {hello + R"(,"logprobs":true,"top_logprobs":21})", "top_logprobs_out_of_range",
       "top_logprobs"},
      {hello + R"(,"n":0})", "n_out_of_range", "n"},
  }};
  for (const auto& [body, reason, param] : cases) {
    ExpectRefused({}, body, reason, param);
  }
  ExpectRefused({}, R"({"messages":[{"role":"user","content":")" + std::string(300, 'x') + "\"}]}",
                "too_many_positions", "messages");
  ExpectRefused({}, R"({"messages":[{"role":"user","content":")" + std::string(9000, 'x') + "\"}]}",
                "too_many_positions", "messages");
}

TEST_F(ChatValidation, WhatIsNotSupportedIsRefusedByName) {
  for (const char* const field :
       {R"("tools":[{}])", R"("functions":[{}])", R"("tool_choice":"required")",
        R"("prompt_logprobs":1)", R"("logits_processors":["x"])", R"("best_of":2)",
        R"("response_format":{"type":"json_object"})", R"("chat_template":"x")",
        R"("reasoning_effort":"low")", R"("chunk_aware":true)", R"("prompt_logprob_token_ids":[1])",
        R"("modalities":["audio"])", R"("echo":true)", R"("documents":[{}])"}) {
    const std::string text = field;
    ExpectRefused({}, R"({"messages":[{"role":"user","content":"p"}],)" + text + "}",
                  "not_supported", text.substr(1, text.find(':') - 2));
  }
  ExpectAccepted(
      {}, R"({"messages":[{"role":"user","content":"p","name":"x","tool_calls":null}],"tools":[],)"
          R"("tool_choice":"none","logprobs":false,"top_logprobs":0,"presence_penalty":0,)"
          R"("response_format":{"type":"text"},"user":"u","metadata":{},"store":false,)"
          R"("stop":null,"max_tokens":null,"parallel_tool_calls":true,"chunk_aware":false})");
}

// The text of the conversation is taken apart, so that control tokens of the template are tokens.
TEST(Chat, AConversationIsSplitAtItsSeparatorsOnRequest) {
  ServerOptions options = WithChat();
  options.chunks.enable_chunk_aware = true;
  FakeServer server(options);
  const std::string content = "s # # ab # # cde # # why?";
  json request = {{"messages", json::array({Message("user", content)})},
                  {"max_tokens", 6},
                  {"temperature", 0},
                  {"ignore_eos", true},
                  {"n", 2}};
  const Ids whole = Greedy("<user>" + content + "</><assistant>", 6);
  EXPECT_THAT(IdsOf(server, request), ElementsAre(whole, whole));
  request["chunk_aware"] = true;
  const auto ids = [](const std::string& text) { return Ids(text.begin(), text.end()); };
  Ids prefix = ids("<user>s");
  prefix.insert(prefix.begin(), kChatBos);
  const Ids split =
      GreedyCompletion(PackChunks(prefix, {{ids("ab")}, {ids("cde")}}, {ids("why?</><assistant>")},
                                  ChunkPositionStrategy::kShared),
                       6, FakeServer::kVocabSize);
  EXPECT_NE(split, whole);
  EXPECT_THAT(IdsOf(server, request), ElementsAre(split, split));
  request["n"] = 1;
  request["chunk_groups"] = {2};
  EXPECT_NE(IdsOf(server, request).front(), split);
  std::string many = "s";
  for (int i = 0; i < 130; ++i) {
    many += " # # a";
  }
  request["messages"][0]["content"] = many;
  EXPECT_EQ(Ask(server, request).error().reason, "too_many_chunks");
  request["messages"][0]["content"] = "no separators";
  request.erase("chunk_groups");
  EXPECT_EQ(IdsOf(server, request).front(), Greedy("<user>no separators</><assistant>", 6));
  request["messages"][0]["content"] = content;
  request.erase("max_tokens");
  EXPECT_GT(IdsOf(server, request).front().size(), 16u) << "as many as there is room for";
}

TEST(Chat, AServerWithoutATemplateSaysWhy) {
  CheckingServer server;
  server.options_.no_chat_reason = "the model directory has no chat template";
  const auto prepared = PrepareBody(
      ChatEndpoint(), R"({"messages":[{"role":"user","content":"p"}]})", server.context());
  ASSERT_FALSE(prepared);
  EXPECT_EQ(prepared.error().reason, "no_chat_template");
  EXPECT_EQ(prepared.error().message,
            "This server takes no messages: the model directory has no chat template.");
}

TEST(Chat, AMessageOfTheSocketIsRead) {
  const Server server;
  v1::Request request;
  v1::ChatRequest& chat = *request.mutable_chat();
  v1::ChatMessage& message = *chat.add_messages();
  message.set_role("user");
  message.mutable_content()->set_text("p");
  const auto prepared = PrepareParsed(ChatEndpoint().FromMessage(request), server.context());
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_EQ(prepared->readout->prompt_tokens, 22) << "with the prompt of generation";
}

TEST(Chat, AMessageOfTheSocketHasMembers) {
  CheckingServer server;
  server.options_ = WithChatTemplate(kReader);
  v1::Request request;
  v1::ChatMessage& message = *request.mutable_chat()->add_messages();
  message.set_role("user");
  message.mutable_content()->set_text("p");
  v1::ChatMember& member = *message.add_members();
  member.set_key("name");
  const auto answer = [&](const std::string& key, const std::string& value) {
    member.set_key(key);
    member.set_value(value);
    const auto prepared = PrepareParsed(ChatEndpoint().FromMessage(request), server.context());
    return prepared ? std::to_string(prepared->readout->prompt_tokens)
                    : prepared.error().reason + " " + prepared.error().param;
  };
  EXPECT_EQ(answer("name", " \"Ann\" "), "11") << "BOS and <userAnn>p";
  EXPECT_EQ(answer("name", "null"), "8");
  EXPECT_EQ(answer("other", "\"Ann\""), "8");
  EXPECT_EQ(answer("name", "{"), "invalid_json messages[0].name");
  EXPECT_EQ(answer("name", ""), "invalid_json messages[0].name");
  EXPECT_EQ(answer("\xff", "1"), "invalid_utf8 messages[0]");
  for (const char* const name :
       {"role", "content", "tool_calls", "tool_call_id", "function_call"}) {
    EXPECT_EQ(answer(name, "\"x\""), std::string("not_supported messages[0].") + name);
  }
}

}  // namespace chat_test
}  // namespace scorecast::coordinator

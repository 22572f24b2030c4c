#include "coordinator/service/request_service.h"

#include <array>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "proto/scorecast.pb.h"
#include "tests/coordinator/endpoints/asking.h"
#include "tests/coordinator/endpoints/chat_server.h"
#include "tests/coordinator/endpoints/fake_server.h"

namespace scorecast::coordinator {
namespace request_service_test {

using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr const char* kPrompt = R"({"prompt":"p","max_new_tokens":3)";

/// Begins a request from JSON.
void Begin(FakeServer& server, const std::string& url, const std::string& body,
           const std::shared_ptr<AskingCall>& call) {
  const Endpoint& endpoint = *server.service.FindByUrl(url);
  coordinator::Begin(server.service, endpoint, endpoint.FromJson(ParseJson(body, 1000).value()),
                     call);
}

proto::Error ErrorOf(AskingCall& call) {
  const auto response = call.Wait().Respond();
  if (response) {
    ADD_FAILURE() << "there is a response";
    return {};
  }
  return response.error();
}

TEST(RequestService, FindsEndpoints) {
  FakeServer server;
  for (const Endpoint* endpoint : Endpoints()) {
    for (const std::string_view url : endpoint->urls()) {
      EXPECT_EQ(server.service.FindByUrl(url), endpoint);
    }
    if (endpoint->message_field() != v1::Request::ENDPOINT_NOT_SET) {
      EXPECT_EQ(server.service.FindByMessageField(endpoint->message_field()), endpoint);
    }
  }
  EXPECT_EQ(server.service.FindByUrl("/inference/a/b"),
            server.service.FindByUrl("/inference/{model}"));
  EXPECT_EQ(server.service.FindByUrl("/inference/v1/embeddings"), nullptr);
  EXPECT_EQ(server.service.FindByUrl("/v1/nothing"), nullptr);
  EXPECT_EQ(server.service.FindByMessageField(v1::Request::ENDPOINT_NOT_SET), nullptr);
}

/// An endpoint that has no message.
class JsonEndpoint : public Endpoint {
 public:
  std::string_view name() const override { return "json"; }
  std::span<const std::string_view> urls() const override {
    static constexpr std::array<std::string_view, 1> kUrls = {"/v1/json"};
    return kUrls;
  }
  ParsedRequest FromJson(BodyJson) const override { return std::unique_ptr<EndpointRequest>(); }
};

TEST(RequestService, AnEndpointWithoutAMessageIsFoundByUrlOnly) {
  const JsonEndpoint endpoint;
  const std::array<const Endpoint*, 1> endpoints = {&endpoint};
  FakeServer server(FakeServer::MultiItem(), {}, endpoints);
  EXPECT_EQ(server.service.FindByUrl("/v1/json"), &endpoint);
  EXPECT_EQ(server.service.FindByMessageField(v1::Request::ENDPOINT_NOT_SET), nullptr);
}

TEST(RequestService, EveryEndpointThatStreamsHasAMessageForDeltas) {
  // One of these has the required fields of an endpoint, which ignores those of the others, but not
  // `stream`.
  constexpr std::array<std::string_view, 6> kBodies = {
      R"({"query":"q","items":["i"],"documents":["d"],"prompt":"p","tokens":[1],"max_new_tokens":1,)"
      R"("input":"t","inputs":"t","texts":["t"],"input_type":"clustering","stream":true})",
      R"({"ids":[1],"inputs":["t"],"stream":true})",
      R"({"inputs":{"source_sentence":"t","sentences":["t"]},"stream":true})",
      R"({"inputs":[{"content":[{"type":"text","text":"t"}]}],"input_type":"clustering",)"
      R"("stream":true})",
      R"({"prompt":"p","stream":true})",
      R"({"messages":[{"role":"user","content":"t"}],"stream":true})"};
  FakeServer server;
  const ServerOptions options = WithChat(server.options);
  int streaming = 0;
  for (const Endpoint* endpoint : Endpoints()) {
    ParsedRequest parsed = endpoint->FromJson(ParseJson(kBodies[0], 1000).value());
    for (std::size_t i = 1; !parsed && parsed.error().param != "stream" && i < kBodies.size();
         ++i) {
      parsed = endpoint->FromJson(ParseJson(kBodies[i], 1000).value());
    }
    if (!parsed) {
      EXPECT_EQ(parsed.error().param, "stream")
          << endpoint->name() << ": " << parsed.error().message;
      continue;
    }
    if ((*parsed)->streams()) {
      ++streaming;
      const auto prepared = std::move(**parsed).Prepare(
          {server.config, &server.tokenizer, options, server.scheduler.limits()}, {});
      ASSERT_TRUE(prepared) << endpoint->name() << ": " << prepared.error().message;
      const auto delta = prepared->form_delta(1, {"text", {7}, FinishReason::kStop});
      const google::protobuf::Descriptor& replies = *v1::Response::descriptor();
      bool has_message = false;
      for (int i = 0; i < replies.field_count(); ++i) {
        has_message =
            has_message || replies.field(i)->message_type() == delta->message().GetDescriptor();
      }
      EXPECT_TRUE(has_message) << endpoint->name();
      EXPECT_THAT(JsonOf(*delta).dump(), HasSubstr(R"(:"text")"));
    }
  }
  EXPECT_EQ(streaming, 3) << "chunked, completions and chat";
}

TEST(RequestService, SetsTheModelAndThePromptTokensOfEveryResponse) {
  FakeServer server;
  const auto response = [&](const std::string& url, const std::string& body) {
    const auto call = std::make_shared<AskingCall>();
    Begin(server, url, body, call);
    auto formed = call->Wait().Respond();
    server.scheduler.WaitIdle();
    return formed ? JsonOf(**formed) : OrderedJson(formed.error().message);
  };
  for (const auto& [url, body, prompt_tokens] :
       {std::tuple{"/v1/chunked", std::string(kPrompt), 2},
        std::tuple{"/v1/score", std::string(R"({"query":[1],"items":[[2]],"labels":[" no"])"),
                   2}}) {
    const OrderedJson of_server = response(url, body + "}");
    EXPECT_EQ(of_server["model"], "default");
    EXPECT_EQ(of_server["usage"]["prompt_tokens"], prompt_tokens);
    EXPECT_EQ(response(url, body + R"(,"model":"mine"})")["model"], "mine");
  }
}

TEST(RequestService, RefusesOtherModelsIfNamesAreStrict) {
  ServerOptions options = FakeServer::MultiItem();
  options.model_name = "served";
  options.strict_model_name = true;
  FakeServer server(options);
  const auto begin = [&](const std::string& more) {
    const auto call = std::make_shared<AskingCall>();
    Begin(server, "/v1/chunked", std::string(kPrompt) + more + "}", call);
    return call;
  };
  for (const std::string more : {"", R"(,"model":"served")", R"(,"model":null)"}) {
    EXPECT_TRUE(begin(more)->Wait().Respond()) << more;
  }
  server.scheduler.WaitIdle();
  for (const std::string name : {"other", "Served", ""}) {
    const proto::Error error = ErrorOf(*begin(R"(,"model":")" + name + "\""));
    EXPECT_EQ(error.code, 404);
    EXPECT_EQ(error.reason, "model_not_found");
    EXPECT_EQ(error.param, "model");
    EXPECT_EQ(error.message,
              "The model \"" + name + "\" does not exist: this server has \"served\".");
  }
}

TEST(RequestService, StreamsARequestFromJson) {
  FakeServer server;
  std::map<std::size_t, std::vector<TokenId>> deltas;
  const auto call = std::make_shared<AskingCall>([&](std::size_t output, CompletionDelta delta) {
    deltas[output].insert(deltas[output].end(), delta.token_ids.begin(), delta.token_ids.end());
  });
  Begin(server, "/v1/chunked", std::string(kPrompt) + R"(,"stream":true})", call);
  const auto response = call->Wait().Respond();
  server.scheduler.WaitIdle();
  ASSERT_TRUE(response) << response.error().message;
  ASSERT_THAT(deltas, SizeIs(1));
  EXPECT_THAT(deltas[0], SizeIs(3));
  EXPECT_EQ(JsonOf(**response)["outputs"][0]["token_ids"], OrderedJson(deltas[0]));
}

TEST(RequestService, CancelsARequestFromJson) {
  FakeServer server;
  server.cluster.Hold();
  const auto first = std::make_shared<AskingCall>();
  const auto second = std::make_shared<AskingCall>();
  Begin(server, "/v1/chunked", std::string(kPrompt) + "}", first);
  Begin(server, "/v1/chunked", std::string(kPrompt) + "}", second);
  ASSERT_FALSE(second->is_over());
  server.service.Cancel({second});
  EXPECT_EQ(ErrorOf(*second).code, 499);
  EXPECT_EQ(second->replies().bytes(), 0);
  server.cluster.Release();
  EXPECT_TRUE(first->Wait().Respond());
  server.scheduler.WaitIdle();
}

TEST(RequestService, RefusesALongResponseWithoutRoom) {
  FakeServer server;
  const auto narrow = std::make_shared<AskingCall>(OnDelta(), 10'000);
  Begin(server, "/v1/chunked", R"({"prompt":"p","max_new_tokens":10000})", narrow);
  const proto::Error too_large = ErrorOf(*narrow);
  EXPECT_EQ(too_large.code, 413);
  EXPECT_EQ(too_large.reason, "answer_too_large");
  EXPECT_EQ(too_large.param, "max_new_tokens");
  EXPECT_EQ(narrow->replies().bytes(), 0);

  const auto full = std::make_shared<AskingCall>(OnDelta(), 1'000'000);
  const Held most = full->replies().Hold(900'000);
  Begin(server, "/v1/chunked", R"({"prompt":"p","max_new_tokens":10000})", full);
  const proto::Error overloaded = ErrorOf(*full);
  EXPECT_EQ(overloaded.code, 503);
  EXPECT_EQ(overloaded.reason, "overloaded");
  EXPECT_EQ(full->replies().bytes(), 900'000);

  const auto beyond = std::make_shared<AskingCall>(OnDelta(), 10);
  Begin(server, "/v1/chunked", std::string(kPrompt) + "}", beyond);
  EXPECT_TRUE(beyond->Wait().Respond()) << "short responses always have room";
  server.scheduler.WaitIdle();
}

TEST(RequestService, RefusesNewRequestsWhileItDrains) {
  FakeServer server;
  server.service.StartDraining();
  const auto call = std::make_shared<AskingCall>();
  Begin(server, "/v1/score", "{}", call);
  EXPECT_TRUE(call->is_over());
  EXPECT_EQ(ErrorOf(*call).reason, "draining");
}

}  // namespace request_service_test
}  // namespace scorecast::coordinator

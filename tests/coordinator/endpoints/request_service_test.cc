#include "coordinator/endpoints/request_service.h"

#include <map>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "proto/scorecast.pb.h"
#include "tests/coordinator/endpoints/asking.h"
#include "tests/coordinator/endpoints/fake_server.h"

namespace scorecast::coordinator {
namespace {

using ::testing::SizeIs;

constexpr const char* kPrompt = R"({"prompt":"p","max_new_tokens":3)";

/// Begins a request from JSON.
Scheduler::Ticket Begin(FakeServer& server, const std::string& url, const std::string& body,
                        const std::shared_ptr<AskingSink>& sink) {
  const Endpoint& endpoint = *server.service.FindByUrl(url);
  return server.service.Begin(endpoint, endpoint.FromJson(ParseJson(body).value()), Clock::now(),
                              sink);
}

proto::Error ErrorOf(AskingSink& sink) {
  const auto response = sink.Wait().form();
  if (response) {
    ADD_FAILURE() << "there is a response";
    return {};
  }
  return response.error();
}

TEST(RequestService, FindsEndpoints) {
  FakeServer server;
  for (const Endpoint* endpoint : Endpoints()) {
    EXPECT_EQ(server.service.FindByUrl(endpoint->url()), endpoint);
    EXPECT_EQ(server.service.FindByMessageField(endpoint->message_field()), endpoint);
  }
  EXPECT_EQ(server.service.FindByUrl("/v1/nothing"), nullptr);
  EXPECT_EQ(server.service.FindByMessageField(v1::Request::ENDPOINT_NOT_SET), nullptr);
}

TEST(RequestService, StreamsARequestFromJson) {
  FakeServer server;
  std::map<std::size_t, std::vector<TokenId>> deltas;
  const auto sink = std::make_shared<AskingSink>([&](std::size_t output, CompletionDelta delta) {
    deltas[output].insert(deltas[output].end(), delta.token_ids.begin(), delta.token_ids.end());
  });
  Begin(server, "/v1/chunked", std::string(kPrompt) + R"(,"stream":true})", sink);
  const auto response = sink->Wait().form();
  server.scheduler.WaitIdle();
  ASSERT_TRUE(response) << response.error().message;
  ASSERT_THAT(deltas, SizeIs(1));
  EXPECT_THAT(deltas[0], SizeIs(3));
  EXPECT_EQ((*response)->ToJson()["outputs"][0]["token_ids"], OrderedJson(deltas[0]));
}

TEST(RequestService, CancelsARequestFromJson) {
  FakeServer server;
  server.cluster.Hold();
  const auto first = std::make_shared<AskingSink>();
  const auto second = std::make_shared<AskingSink>();
  Begin(server, "/v1/chunked", std::string(kPrompt) + "}", first);
  const Scheduler::Ticket ticket = Begin(server, "/v1/chunked", std::string(kPrompt) + "}", second);
  ASSERT_NE(ticket, Scheduler::kNoTicket);
  server.service.Cancel({ticket});
  EXPECT_EQ(ErrorOf(*second).code, 499);
  EXPECT_EQ(second->held_bytes().bytes(), 0);
  server.cluster.Release();
  EXPECT_TRUE(first->Wait().form());
  server.scheduler.WaitIdle();
}

TEST(RequestService, RefusesALongResponseWithoutRoom) {
  FakeServer server;
  const auto narrow = std::make_shared<AskingSink>(OnDelta(), 10'000);
  Begin(server, "/v1/chunked", R"({"prompt":"p","max_new_tokens":10000})", narrow);
  const proto::Error too_large = ErrorOf(*narrow);
  EXPECT_EQ(too_large.code, 413);
  EXPECT_EQ(too_large.reason, "answer_too_large");
  EXPECT_EQ(narrow->held_bytes().bytes(), 0);

  const auto full = std::make_shared<AskingSink>(OnDelta(), 1'000'000);
  const Held most = full->held_bytes().Hold(900'000);
  Begin(server, "/v1/chunked", R"({"prompt":"p","max_new_tokens":10000})", full);
  const proto::Error overloaded = ErrorOf(*full);
  EXPECT_EQ(overloaded.code, 503);
  EXPECT_EQ(overloaded.reason, "overloaded");
  EXPECT_EQ(full->held_bytes().bytes(), 900'000);

  const auto beyond = std::make_shared<AskingSink>(OnDelta(), 10);
  Begin(server, "/v1/chunked", std::string(kPrompt) + "}", beyond);
  EXPECT_TRUE(beyond->Wait().form()) << "short responses always have room";
  server.scheduler.WaitIdle();
}

TEST(RequestService, RefusesNewRequestsWhileItDrains) {
  FakeServer server;
  server.service.StartDraining();
  const auto sink = std::make_shared<AskingSink>();
  EXPECT_EQ(Begin(server, "/v1/score", "{}", sink), Scheduler::kNoTicket);
  EXPECT_EQ(ErrorOf(*sink).reason, "draining");
}

}  // namespace
}  // namespace scorecast::coordinator

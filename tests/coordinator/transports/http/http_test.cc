// Requests and their replies.

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/coordinator/transports/http/fake_http_server.h"

namespace scorecast::coordinator {
namespace http_test {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

HttpOptions WithResources() {
  HttpOptions options;
  options.web.resources = {{"/state",
                            [] {
                              return Share({503, "text/plain", "not ready"});
                            }},
                           {"/broken", []() -> SharedContent { throw std::bad_alloc(); }}};
  options.web.refused_urls = {{"/v1/images", "There are no images; see /v1/rerank."}};
  return options;
}

TEST(Http, RepliesHaveTheNumbersOfTheEndpoint) {
  FakeHttpServer server;
  HttpClient client = server.Connect();
  for (std::uint64_t number = 0; number < 10; ++number) {
    const HttpReply reply = client.Call(ScorePost(number));
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.Field("Content-Type"), "application/json");
    EXPECT_EQ(Stable(reply.Json()), server.ScoreOf(ScoreBody(number)));
  }
  EXPECT_EQ(server.server().status().connections, 1U);
}

TEST(Http, PathsMayHaveQueriesAndSlashes) {
  const FakeHttpServer server;
  for (const std::string path :
       {"/v1/score", "/score", "/v1/score/", "/v1/score?a=b", "/v1%2Fscore"}) {
    EXPECT_EQ(server.Call(Post(path, ScoreBody(1).dump())).status, 200) << path;
  }
}

TEST(Http, AModelInAUrlMustBeUtf8) {
  const FakeHttpServer server;
  const HttpReply reply = server.Call(Post("/inference/%ff", "{}"));
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(reply.Reason(), "bad_url");
  EXPECT_EQ(reply.Json()["param"], "url");
}

TEST(Http, RequestsThatAreSentTogetherHaveRepliesInTheirOrder) {
  FakeHttpServer server({}, WithResources());
  HttpClient client = server.Connect();
  constexpr std::uint64_t kRequests = 200;
  std::string bytes;
  for (std::uint64_t number = 0; number < kRequests; ++number) {
    bytes += ScorePost(number) + (number % 2 == 0 ? Get("/state") : "\r\n");
  }
  client.Send(bytes);
  for (std::uint64_t number = 0; number < kRequests; ++number) {
    EXPECT_EQ(Stable(client.Receive().Json()), server.ScoreOf(ScoreBody(number)));
    if (number % 2 == 0) {
      EXPECT_EQ(client.Receive().body, "not ready");
    }
  }
}

TEST(Http, ALongResourceIsSharedByItsReplies) {
  const SharedContent content = Share({200, "text/plain", std::string(100'000, 'x')});
  HttpOptions options;
  options.web.resources = {{"/long", [content] { return content; }}};
  const FakeHttpServer server({}, options);
  HttpClient client = server.Connect();
  client.Send(Get("/long") + Get("/long"));
  EXPECT_EQ(client.Receive().body, content->body);
  EXPECT_EQ(client.Receive().body, content->body);
  client.Send("HEAD /long HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(client.Receive(/*to_head=*/true).Field("Content-Length"), "100000");
  EXPECT_EQ(client.Call(Get("/long")).body, content->body) << "The HEAD had no body.";
}

TEST(Http, ManySmallRequestsTogetherAreServed) {
  const FakeHttpServer server({}, WithResources());
  HttpClient client = server.Connect();
  constexpr int kRequests = 5000;
  std::string bytes;
  for (int i = 0; i < kRequests; ++i) {
    bytes += "GET /state HTTP/1.1\r\nHost:\r\n\r\n";
  }
  std::thread sender([&] { client.Send(bytes); });
  for (int i = 0; i < kRequests; ++i) {
    ASSERT_EQ(client.Receive().status, 503);
  }
  sender.join();
}

TEST(Http, ErrorsAreInTheDialectOfTheEndpointAndKeepTheConnection) {
  FakeHttpServer server({}, WithResources());
  HttpClient client = server.Connect();
  const auto expect = [&](const std::string& request, int status, const std::string& reason) {
    const HttpReply reply = client.Call(request);
    EXPECT_EQ(reply.status, status) << request;
    EXPECT_EQ(reply.Reason(), reason) << reply.body;
    EXPECT_EQ(reply.Json()["code"], status);
    EXPECT_EQ(reply.Json()["object"], "error");
    return reply;
  };
  EXPECT_THAT(expect(Post("/v1/score", "{\"query\": oops}"), 400, "invalid_json").body,
              HasSubstr("at column 11"));
  expect(Post("/v1/score", ""), 400, "invalid_json");
  expect(Post("/v1/score", "{}"), 400, "missing_field");
  expect(Post("/v1/score", "{}", "Content-Type: text/plain\r\n"), 415, "wrong_content_type");
  const HttpReply encoding =
      expect(Post("/v1/score", "{}", "Content-Encoding: br\r\n"), 415, "wrong_content_encoding");
  EXPECT_EQ(encoding.Field("Accept-Encoding"), "gzip, deflate, zstd");
  EXPECT_THAT(expect(Post("/nothing", "{}"), 404, "unknown_url").body, HasSubstr("POST /v1/score"));
  EXPECT_THAT(expect(Post("/v1/images", "{}"), 404, "not_supported").body,
              HasSubstr("see /v1/rerank"));
  const nlohmann::json meant = expect(Post("/v1/scores", "{}"), 404, "unknown_url").Json();
  EXPECT_THAT(meant["message"].get<std::string>(), HasSubstr("Did you mean /v1/score?"));
  EXPECT_EQ(meant["detail"], meant["message"]);
  EXPECT_EQ(meant["error"], meant["message"]);
  EXPECT_EQ(expect(Get("/v1/score"), 405, "wrong_method").Field("Allow"), "POST, OPTIONS");
  EXPECT_TRUE(expect(Get("/v1/embeddings"), 405, "wrong_method").Json()["detail"].is_string());
  EXPECT_EQ(expect(Post("/state", "{}"), 405, "wrong_method").Field("Allow"), "GET, HEAD, OPTIONS");
  expect("BREW /state HTTP/1.1\r\nHost: h\r\n\r\n", 405, "wrong_method");
  EXPECT_EQ(expect(Get("/broken"), 503, "overloaded").Field("Retry-After"), "1");
  EXPECT_EQ(client.Call(ScorePost(1)).status, 200) << "on the same connection";
  const auto refusals = server.server().status().refusals;
  EXPECT_EQ(refusals.at("wrong_method"), 4);
  EXPECT_EQ(refusals.at("invalid_json"), 2);
}

TEST(Http, RepliesOfSystemOneHaveTheIdThatItsClientsReadToo) {
  FakeHttpServer server;
  HttpClient client = server.Connect();
  const auto id = [&](const std::string& request) {
    return client.Call(request).Field("x-typesafe-request-id");
  };
  const std::string first = id(Post("/v1/systemone", "{}"));
  EXPECT_THAT(first, ::testing::MatchesRegex("req_[0-9a-f]+"));
  EXPECT_EQ(first.size(), 4u + 32u);
  EXPECT_NE(id(Post("/systemone", "{")), first);
  EXPECT_EQ(id(ScorePost(1)), "");
}

/// Sends ten requests, on a connection each, of which some are refused with 429 and the reason.
void ExpectRetryAfter(const SchedulerOptions& options, const std::string& reason) {
  FakeHttpServer server({}, {}, options);
  server.cluster().Hold();
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (std::uint64_t number = 0; number < 10; ++number) {
    clients.push_back(std::make_unique<HttpClient>(server.port()));
    clients.back()->Send(ScorePost(number));
  }
  EXPECT_TRUE(Eventually([&] { return server.server().status().refusals.contains(reason); }));
  server.cluster().Release();
  bool has_refusal = false;
  for (const auto& client : clients) {
    const HttpReply reply = client->Receive();
    if (reply.status == 429) {
      has_refusal = true;
      EXPECT_EQ(reply.Reason(), reason);
      EXPECT_THAT(reply.Field("Retry-After"), MatchesRegex("[1-9][0-9]*"));
    }
  }
  EXPECT_TRUE(has_refusal);
}

TEST(Http, ARetriableErrorSaysWhen) {
  ExpectRetryAfter({.max_queue = 1}, "queue_full");
  ExpectRetryAfter(
      {.max_wait_seconds = 40,
       .time_model = PassTimeModel(PassRates{.overhead = 0, .row = 1, .key = 0, .read = 0})},
      "wait_too_long");
}

TEST(Http, ResourcesAreReadWithGetAndHead) {
  const FakeHttpServer server({}, WithResources());
  HttpClient client = server.Connect();
  const HttpReply reply = client.Call(Get("/state/?verbose"));
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.Field("Content-Type"), "text/plain");
  EXPECT_EQ(reply.body, "not ready");
  client.Send("HEAD /state HTTP/1.1\r\nHost: h\r\n\r\n");
  const HttpReply head = client.Receive(/*to_head=*/true);
  EXPECT_EQ(head.status, 503);
  EXPECT_EQ(head.Field("Content-Length"), "9");
  client.Send("HEAD /v1/score HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(client.Receive(/*to_head=*/true).status, 405);
  EXPECT_EQ(client.Call(Get("/state")).body, "not ready");
  // A body is not forbidden, and says nothing.
  EXPECT_EQ(client.Call("GET /state HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc").body,
            "not ready");
  EXPECT_EQ(client.Call(Get("/state")).body, "not ready");
}

TEST(Http, AResourceMayHaveFurtherFields) {
  HttpOptions options;
  for (const std::size_t size : {10, 10'000}) {  // Longer bodies are sent by themselves.
    options.web.resources.push_back(
        {"/" + std::to_string(size), [size] {
           return Share({.body = std::string(size, 'x'), .fields = {{"X-Field", "value"}}});
         }});
  }
  const FakeHttpServer server({}, options);
  for (const char* const path : {"/10", "/10000"}) {
    EXPECT_EQ(server.Call(Get(path)).Field("x-field"), "value") << path;
  }
}

TEST(Http, OptionsSayWhichMethodsThereAre) {
  const FakeHttpServer server({}, WithResources());
  HttpClient client = server.Connect();
  const auto allow = [&](const std::string& path) {
    const HttpReply reply = client.Call("OPTIONS " + path + " HTTP/1.1\r\nHost: h\r\n\r\n");
    return std::to_string(reply.status) + " " + reply.Field("Allow");
  };
  EXPECT_EQ(allow("/v1/score"), "204 POST, OPTIONS");
  EXPECT_EQ(allow("/state"), "204 GET, HEAD, OPTIONS");
  EXPECT_EQ(allow("*"), "204 GET, HEAD, POST, OPTIONS");
  EXPECT_EQ(allow("/nothing"), "404 ");
}

TEST(Http, EveryReplyHasTheIdOfItsRequest) {
  const FakeHttpServer server;
  HttpClient client = server.Connect();
  EXPECT_EQ(client.Call(ScorePost(1, "X-Request-Id: my-id/1\r\n")).Field("X-Request-Id"),
            "my-id/1");
  EXPECT_EQ(client.Call(Get("/", "X-Request-Id: my-id/2\r\n")).Field("X-Request-Id"), "my-id/2");
  const std::string first = client.Call(ScorePost(1)).Field("X-Request-Id");
  const std::string second =
      client.Call(ScorePost(1, "X-Request-Id: a b\r\n")).Field("X-Request-Id");
  EXPECT_THAT(first, MatchesRegex("[0-9a-f]{16}"));
  EXPECT_THAT(second, MatchesRegex("[0-9a-f]{16}"));
  EXPECT_NE(first, second);
}

TEST(Http, ConnectionsAreKeptByTheRulesOfTheVersion) {
  const FakeHttpServer server;
  const std::string body = ScoreBody(1).dump();
  const auto post = [&](const std::string& version, const std::string& fields) {
    return "POST /v1/score HTTP/" + version + "\r\nHost: h\r\n" + fields +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  };
  {
    HttpClient client = server.Connect();
    EXPECT_EQ(client.Call(post("1.1", "")).Field("Connection"), "");
    const HttpReply last = client.Call(post("1.1", "Connection: close\r\n"));
    EXPECT_EQ(last.status, 200);
    EXPECT_EQ(last.Field("Connection"), "close");
    EXPECT_TRUE(client.IsClosed());
  }
  {
    HttpClient client = server.Connect();
    EXPECT_EQ(client.Call(post("1.0", "Connection: keep-alive\r\n")).Field("Connection"),
              "keep-alive");
    EXPECT_EQ(client.Call(post("1.0", "")).Field("Connection"), "close");
    EXPECT_TRUE(client.IsClosed());
  }
}

TEST(Http, WhatFollowsTheLastRequestIsDropped) {
  const FakeHttpServer server;
  HttpClient client = server.Connect();
  client.Send(ScorePost(1, "Connection: close\r\n") + ScorePost(2));
  EXPECT_EQ(client.Receive().status, 200);
  EXPECT_TRUE(client.IsClosed());
}

}  // namespace http_test
}  // namespace scorecast::coordinator

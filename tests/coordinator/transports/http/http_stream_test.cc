// Completions as server-sent events.

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/coordinator/transports/http/fake_http_server.h"

namespace scorecast::coordinator {
namespace http_stream_test {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// The data of each event, in order. Fails the test if the text is not all events.
std::vector<std::string> EventsOf(const std::string& text) {
  std::vector<std::string> events;
  const std::string begin = "data: ";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find("\n\n", at);
    EXPECT_EQ(text.compare(at, begin.size(), begin), 0) << text.substr(at);
    if (end == std::string::npos) {
      ADD_FAILURE() << "no end: " << text.substr(at);
      break;
    }
    events.push_back(text.substr(at + begin.size(), end - at - begin.size()));
    EXPECT_EQ(events.back().find('\n'), std::string::npos);
    at = end + 2;
  }
  return events;
}

/// Checks that the events are deltas which add up to the response, and "[DONE]".
void ExpectCompletion(const std::string& text, std::size_t tokens) {
  std::vector<std::string> events = EventsOf(text);
  ASSERT_GE(events.size(), 3U) << text;
  EXPECT_EQ(events.back(), "[DONE]");
  const json response = json::parse(events[events.size() - 2]);
  std::string completion;
  json ids = json::array();
  for (std::size_t i = 0; i + 2 < events.size(); ++i) {
    const json delta = json::parse(events[i]);
    EXPECT_EQ(delta["object"], "chunked.delta");
    completion += delta["text"].get<std::string>();
    for (const json& id : delta["token_ids"]) {
      ids.push_back(id);
    }
    EXPECT_EQ(delta.contains("finish_reason"), i + 3 == events.size());
  }
  EXPECT_EQ(response["object"], "chunked");
  EXPECT_EQ(response["outputs"][0]["text"], completion);
  EXPECT_EQ(response["outputs"][0]["token_ids"], ids);
  EXPECT_EQ(ids.size(), tokens);
}

TEST(HttpStream, DeltasComeBeforeTheResponseAndAddUpToIt) {
  const FakeHttpServer server;
  HttpClient client = server.Connect();
  client.Send(Post("/v1/chunked", StreamBody(30).dump()) +
              Post("/v1/chunked", StreamBody(5).dump()) + ScorePost(1));
  for (const std::size_t tokens : {30, 5}) {
    const HttpReply reply = client.Receive();
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.Field("Content-Type"), "text/event-stream; charset=utf-8");
    EXPECT_EQ(reply.Field("Cache-Control"), "no-cache");
    EXPECT_EQ(reply.Field("Transfer-Encoding"), "chunked");
    ExpectCompletion(reply.body, tokens);
  }
  EXPECT_EQ(client.Receive().status, 200) << "on the same connection";
}

TEST(HttpStream, EndsWithTheConnectionInHttp10) {
  const FakeHttpServer server;
  HttpClient client = server.Connect();
  const std::string body = StreamBody(5).dump();
  const HttpReply reply =
      client.Call("POST /v1/chunked HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: " +
                  std::to_string(body.size()) + "\r\n\r\n" + body);
  EXPECT_EQ(reply.Field("Transfer-Encoding"), "");
  EXPECT_EQ(reply.Field("Connection"), "close");
  ExpectCompletion(reply.body, 5);
}

TEST(HttpStream, AnErrorBeforeItBeginsIsAnOrdinaryReply) {
  const FakeHttpServer server;
  json body = StreamBody(5);
  body["temperature"] = -1;
  const HttpReply reply = server.Call(Post("/v1/chunked", body.dump()));
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(reply.Field("Content-Type"), "application/json");
  EXPECT_EQ(reply.Json()["param"], "temperature");
}

TEST(HttpStream, AnErrorAfterItBeganIsAnEvent) {
  FakeHttpServer server;
  HttpClient client = server.Connect();
  client.Send(Post("/v1/chunked", StreamBody(400).dump()));
  const std::string begin = client.ReceiveUntil("chunked.delta");
  EXPECT_THAT(begin, HasSubstr("HTTP/1.1 200 OK"));
  server.service().RefuseAll();
  const std::string rest = client.ReceiveUntil("0\r\n\r\n");
  EXPECT_THAT(rest, HasSubstr("\"reason\":\"draining\""));
  EXPECT_THAT(rest, HasSubstr("data: [DONE]\n\n"));
  EXPECT_THAT(rest.substr(rest.find("\"reason\"")), Not(HasSubstr("chunked.delta")));
}

TEST(HttpStream, AClientThatLeavesEndsItsGeneration) {
  FakeHttpServer server;
  {
    HttpClient client = server.Connect();
    client.Send(Post("/v1/chunked", StreamBody(400).dump()));
    client.ReceiveUntil("chunked.delta");
    server.cluster().Hold();
  }
  EXPECT_TRUE(Eventually([&] { return server.server().status().connections == 0; }));
  server.cluster().Release();
  EXPECT_TRUE(server.service().WaitAllOver(std::chrono::seconds(30)));
  server.scheduler().WaitIdle();
  EXPECT_LT(server.cluster().plans().size(), 400U);
}

TEST(HttpStream, WithoutStreamOnlyTheResponseComes) {
  const FakeHttpServer server;
  json body = StreamBody(5);
  body["stream"] = false;
  const HttpReply reply = server.Call(Post("/v1/chunked", body.dump()));
  EXPECT_EQ(reply.Field("Content-Type"), "application/json");
  EXPECT_EQ(reply.Json()["outputs"][0]["token_ids"].size(), 5U);
}

}  // namespace http_stream_test
}  // namespace scorecast::coordinator

// Clients that are slow, that leave, or that are too many.

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/json/body_members.h"
#include "tests/coordinator/transports/http/fake_http_server.h"

namespace scorecast::coordinator {
namespace http_arrival_test {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

/// Longer than a busy machine stalls.
constexpr auto kShort = milliseconds(1000);

HttpOptions ShortHeaders() {
  HttpOptions options;
  options.header_timeout = kShort;
  return options;
}

TEST(HttpArrival, TheHeaderHasATimeLimit) {
  const FakeHttpServer server({}, ShortHeaders());
  HttpClient client = server.Connect();
  EXPECT_EQ(client.Call(ScorePost(1)).status, 200);
  client.Send("POST /v1/score HTTP/1.1\r\nHost:");
  const HttpReply reply = client.Receive();
  EXPECT_EQ(reply.status, 408);
  EXPECT_EQ(reply.Reason(), "request_timeout");
  EXPECT_THAT(reply.body, HasSubstr("header of the request did not arrive within 1000 ms"));
  EXPECT_EQ(reply.Field("Connection"), "close");
  EXPECT_TRUE(client.IsClosed());
}

TEST(HttpArrival, ATrickleOfBytesDoesNotExtendTheTime) {
  const FakeHttpServer server({}, ShortHeaders());
  HttpClient client = server.Connect();
  client.Send("GET / HTTP/1.1\r\n");
  std::atomic<bool> has_reply = false;
  std::thread trickle([&] {
    while (!has_reply) {
      try {
        client.Send("A: b\r\n");
      } catch (const boost::system::system_error&) {
        return;  // The server has closed the connection.
      }
      std::this_thread::sleep_for(milliseconds(20));
    }
  });
  EXPECT_EQ(client.Receive().status, 408);
  has_reply = true;
  trickle.join();
}

TEST(HttpArrival, TheBodyHasMoreTimeThanTheHeader) {
  const FakeHttpServer server({}, ShortHeaders());
  HttpClient client = server.Connect();
  const std::string post = ScorePost(1);
  client.Send(post.substr(0, post.size() - 1));
  std::this_thread::sleep_for(kShort + milliseconds(200));
  EXPECT_EQ(client.Call(post.substr(post.size() - 1)).status, 200);
}

TEST(HttpArrival, TheRequestHasATimeLimit) {
  SocketOptions options;
  options.read_timeout = kShort;
  const FakeHttpServer server(options);
  HttpClient client = server.Connect();
  const std::string post = ScorePost(1);
  client.Send(post.substr(0, post.size() - 1));
  const HttpReply reply = client.Receive();
  EXPECT_EQ(reply.status, 408);
  EXPECT_THAT(reply.body, HasSubstr("The request did not arrive within 1000 ms"));
}

TEST(HttpArrival, AnIdleConnectionIsClosedWithoutAReply) {
  SocketOptions options;
  options.idle_timeout = kShort;
  FakeHttpServer server(options);
  HttpClient client = server.Connect();
  EXPECT_EQ(client.Call(ScorePost(1)).status, 200);
  // Some clients end a body with an empty line.
  client.Send("\r\n");
  EXPECT_TRUE(client.IsClosed());
  EXPECT_TRUE(server.server().status().refusals.empty());
}

TEST(HttpArrival, AConnectionThatBreaksAnywhereLeavesNothing) {
  FakeHttpServer server;
  const std::string chunked =
      "POST /v1/score HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" +
      Chunk(ScoreBody(1).dump()) + "0\r\n\r\n";
  for (const std::string& request : {ScorePost(1), chunked, Get("/")}) {
    for (std::size_t cut = 0; cut <= request.size(); ++cut) {
      server.Connect().Send(request.substr(0, cut));
    }
  }
  EXPECT_TRUE(Eventually([&] { return server.server().status().connections == 0; }));
  server.scheduler().WaitIdle();
  EXPECT_TRUE(Eventually([&] { return server.server().status().held_request_bytes == 0; }));
  EXPECT_EQ(server.Call(ScorePost(2)).status, 200);
}

TEST(HttpArrival, ARequestMayComeByteByByte) {
  const FakeHttpServer server;
  HttpClient client = server.Connect();
  for (int i = 0; i < 2; ++i) {
    for (const char c : ScorePost(1)) {
      client.Send(std::string(1, c));
    }
    EXPECT_EQ(client.Receive().status, 200);
  }
}

TEST(HttpArrival, ARequestOfAClientThatLeavesIsDropped) {
  FakeHttpServer server;
  server.cluster().Hold();
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (std::uint64_t number = 0; number < 20; ++number) {
    clients.push_back(std::make_unique<HttpClient>(server.port()));
    clients.back()->Send(ScorePost(number));
  }
  ASSERT_TRUE(Eventually([&] { return server.server().status().requests_in_flight == 20; }));
  ASSERT_TRUE(Eventually([&] { return !server.cluster().plans().empty(); }));
  clients.clear();
  EXPECT_TRUE(Eventually([&] { return server.server().status().connections == 0; }));
  EXPECT_TRUE(server.service().WaitAllOver(std::chrono::seconds(30)));
  server.cluster().Release();
  server.scheduler().WaitIdle();
  EXPECT_EQ(server.cluster().plans().size(), 1U);
}

// A client that closes its sending side cannot be told from one that has left, but what it has sent
// is still served if that is done at once.
TEST(HttpArrival, AClientThatSendsNoMoreGetsTheRepliesThatAreReady) {
  HttpOptions options;
  options.web.resources = {{"/long", [] {
                              return Share({200, "text/plain", std::string(500'000, 'x')});
                            }}};
  const FakeHttpServer server({}, options);
  HttpClient client = server.Connect();
  client.Send(Get("/long") + Get("/long"));
  client.CloseSending();
  EXPECT_EQ(client.Receive().body.size(), 500'000U);
  EXPECT_EQ(client.Receive().body.size(), 500'000U);
  EXPECT_TRUE(client.IsClosed());
}

// Both requests arrive at once. The second one is read when the first one has its reply.
TEST(HttpArrival, ARequestCountsFromItsArrivalAlsoIfItWaitsToBeRead) {
  FakeHttpServer server;
  server.cluster().Hold();
  HttpClient client = server.Connect();
  client.Send(ScorePost(1) + ScorePost(2));
  ASSERT_TRUE(Eventually([&] { return !server.cluster().plans().empty(); }));
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  server.cluster().Release();
  EXPECT_EQ(client.Receive().status, 200);
  EXPECT_GE(client.Receive().Json()["timings"]["total_ms"], 100);
}

TEST(HttpArrival, AConnectionBeyondTheLimitGetsA503) {
  SocketOptions options;
  options.max_connections = 1;
  options.max_connections_per_address = 1;
  const FakeHttpServer server(options);
  HttpClient first = server.Connect();
  EXPECT_EQ(first.Call(ScorePost(1)).status, 200);
  HttpClient second = server.Connect();
  const HttpReply reply = second.Call(ScorePost(1));
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.Reason(), "too_many_connections");
  EXPECT_EQ(reply.Field("Connection"), "close");
  EXPECT_TRUE(second.IsClosed());
  EXPECT_EQ(first.Call(ScorePost(1)).status, 200);
}

TEST(HttpArrival, IsNotDelayedByClientsThatDoNotRead) {
  HttpOptions options;
  options.web.resources = {{"/long", [] {
                              return Share({200, "text/plain", std::string(1'000'000, 'x')});
                            }}};
  FakeHttpServer server({}, options);
  std::string many;
  for (int i = 0; i < 100; ++i) {
    many += Get("/long");
  }
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (int i = 0; i < 5; ++i) {
    clients.push_back(std::make_unique<HttpClient>(server.port()));
    clients.back()->Send(many);
  }
  EXPECT_EQ(server.Call(ScorePost(1)).status, 200);
  // Four MiB of replies of each client, and what the system buffers.
  EXPECT_LT(server.server().status().held_reply_bytes, 5 * 6'000'000);
}

TEST(HttpArrival, ALongResponseCountsAsItIsInJson) {
  const FakeServer fake;
  nlohmann::json body = {{"query", {1, 2}},
                         {"items", nlohmann::json::array()},
                         {"label_token_ids", nlohmann::json::array()}};
  for (int i = 0; i < 100; ++i) {
    body["items"].push_back({i});
    body["label_token_ids"].push_back(i);
  }
  const auto parsed = fake.service.FindByUrl("/v1/score")->FromJson(body);
  const std::int64_t message_bytes = fake.service.ResponseBytesBound(**parsed);
  SocketOptions options;
  options.max_held_bytes = 2 * message_bytes;
  const FakeHttpServer server(options);
  EXPECT_EQ(server.Call(Post("/v1/score", body.dump())).Reason(), "answer_too_large");
  options.max_held_bytes = 5 * message_bytes;
  const FakeHttpServer larger(options);
  const HttpReply reply = larger.Call(Post("/v1/score", body.dump()));
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_GT(static_cast<std::int64_t>(reply.body.size()), message_bytes);
}

}  // namespace http_arrival_test
}  // namespace scorecast::coordinator

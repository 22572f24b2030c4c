// A drain, as HTTP clients see it.

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "coordinator/schedule/queue/scheduler_status.h"
#include "coordinator/transports/connection/listening_socket.h"
#include "coordinator/transports/http/http_protocol.h"
#include "tests/coordinator/transports/http/fake_http_server.h"

namespace scorecast::coordinator {
namespace http_shutdown_test {

TEST(HttpShutdown, EveryAcceptedRequestHasAReplyThatEndsItsConnection) {
  FakeHttpServer server;
  server.cluster().Hold();
  constexpr std::uint64_t kClients = 20;
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (std::uint64_t number = 0; number < kClients; ++number) {
    clients.push_back(std::make_unique<HttpClient>(server.port()));
    clients.back()->Send(ScorePost(number));
  }
  HttpClient idle = server.Connect();
  // A connection that is not accepted yet would be reset. A request that is still being prepared
  // would be refused. The first one is in the pass that is held.
  ASSERT_TRUE(Eventually([&] {
    return server.server().status().connections == kClients + 1 &&
           std::cmp_equal(server.scheduler().status().waiting_jobs, kClients - 1);
  }));
  server.server().StartDraining();
  const HttpReply refusal = idle.Call(ScorePost(1));
  EXPECT_EQ(refusal.status, 503);
  EXPECT_EQ(refusal.Reason(), "draining");
  EXPECT_EQ(refusal.Field("Connection"), "close");
  EXPECT_TRUE(idle.IsClosed());
  server.cluster().Release();
  for (const auto& client : clients) {
    const HttpReply reply = client->Receive();
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.Field("Connection"), "close");
    EXPECT_TRUE(client->IsClosed());
  }
  server.server().CloseConnections(std::chrono::seconds(5));
  EXPECT_EQ(server.server().status().connections, 0U);
}

TEST(HttpShutdown, ClientsThatComeDuringTheDrainReadTheStateAndAreSentElsewhere) {
  HttpOptions options;
  const auto content = [] { return Share({200, "text/plain", "content"}); };
  options.web.resources = {{"/health", content, "", /*is_state=*/true}, {"/info", content, ""}};
  FakeHttpServer server({}, options);
  const std::uint16_t port = server.server().Listen(
      OpenListeningSocket("127.0.0.1", 0), MakeHttpProtocol(server.service().endpoints(), options),
      {.accepts_while_draining = true});
  server.server().StartDraining();
  EXPECT_EQ(HttpClient(port).Call(Get("/health")).status, 200);
  for (const std::string& request : {Get("/info"), Get("/nowhere"), ScorePost(1),
                                     Post("/v1/score", "", "Expect: 100-continue\r\n")}) {
    const HttpReply refusal = HttpClient(port).Call(request);
    EXPECT_EQ(refusal.status, 503) << request;
    EXPECT_EQ(refusal.Reason(), "draining");
    EXPECT_EQ(refusal.Field("Retry-After"), "1");
    EXPECT_EQ(refusal.Field("Connection"), "close");
  }
  EXPECT_THROW(server.Connect().Call(Get("/health")), std::exception) << "as told by its options";
  server.server().CloseConnections(std::chrono::seconds(5));
  EXPECT_THROW(HttpClient(port).Call(Get("/health")), std::exception);
}

TEST(HttpShutdown, ClosesConnectionsThatWaitForNothingAtOnce) {
  FakeHttpServer server;
  HttpClient idle = server.Connect();
  EXPECT_EQ(idle.Call(ScorePost(1)).status, 200);
  HttpClient half = server.Connect();
  half.Send("POST /v1/score HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n{");
  ASSERT_TRUE(Eventually([&] { return server.server().status().connections == 2; }));
  server.server().StartDraining();
  server.service().RefuseAll();
  server.server().CloseConnections(std::chrono::hours(1));
  EXPECT_TRUE(idle.IsClosed());
  EXPECT_TRUE(half.IsClosed());
}

TEST(HttpShutdown, DoesNotWaitForAClientThatDoesNotRead) {
  HttpOptions options;
  options.web.resources = {{"/long", [] {
                              return Share({200, "text/plain", std::string(50'000'000, 'x')});
                            }}};
  FakeHttpServer server({}, options);
  HttpClient client = server.Connect();
  client.Send(Get("/long"));
  ASSERT_TRUE(Eventually([&] { return server.server().status().held_reply_bytes > 0; }));
  server.server().StartDraining();
  server.server().CloseConnections(std::chrono::milliseconds(100));
  EXPECT_EQ(server.server().status().connections, 0U);
}

}  // namespace http_shutdown_test
}  // namespace scorecast::coordinator

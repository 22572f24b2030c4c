// Requests of one address beside many of another, which the server answers without the ranks.

#include <algorithm>
#include <atomic>
#include <deque>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/coordinator/transports/http/fake_http_server.h"

namespace scorecast::coordinator {
namespace http_turns_test {

constexpr int kConnections = 40;
constexpr int kPipelined = 50;

/// A server whose I/O threads can be held, and which counts what one address asks for.
class HttpTurns : public ::testing::Test {
 protected:
  HttpOptions Options() {
    HttpOptions options;
    options.resources = {{"/busy",
                          [this] {
                            ++busy_;
                            return Share({200, "text/plain", "busy"});
                          },
                          ""},
                         {"/polite",
                          [this] {
                            busy_before_ = busy_.load();
                            return Share({200, "text/plain", "polite"});
                          },
                          ""},
                         {"/hold",
                          [this] {
                            ++held_;
                            while (is_holding_) {
                            }
                            return Share({200, "text/plain", "held"});
                          },
                          ""}};
    return options;
  }
  ~HttpTurns() override { is_holding_ = false; }

  /// A further client, which the server has accepted.
  HttpClient& AddTo(std::deque<HttpClient>& clients, const std::string& own_address) {
    clients.emplace_back(server_.port(), own_address);
    EXPECT_EQ(clients.back().Call(Get("/busy")).status, 200);
    return clients.back();
  }

  std::atomic<int> busy_ = 0;
  std::atomic<int> busy_before_ = -1;  ///< `busy_` when the polite request had its turn.
  std::atomic<int> held_ = 0;
  std::atomic<bool> is_holding_ = true;
  FakeHttpServer server_{{}, Options()};
};

/// `requests` are sent together on each of the busy connections.
void SendTo(std::deque<HttpClient>& clients, const std::string& request) {
  std::string requests;
  for (int i = 0; i < kPipelined; ++i) {
    requests += request;
  }
  for (HttpClient& client : clients) {
    client.Send(requests);
  }
}

TEST_F(HttpTurns, OfAnotherAddressAreFewTurnsAwayBesidePipelinedRequests) {
  std::deque<HttpClient> busy;
  for (int i = 0; i < kConnections; ++i) {
    AddTo(busy, "127.0.0.1");
  }
  std::deque<HttpClient> others;
  HttpClient& polite = AddTo(others, "127.0.0.2");
  // Both I/O threads are held until all requests are in the server's sockets.
  std::deque<HttpClient> holding;
  for (int i = 0; i < 2; ++i) {
    AddTo(holding, "127.0.0.1").Send(Get("/hold"));
  }
  ASSERT_TRUE(Eventually([this] { return held_ == 2; }));
  busy_ = 0;
  SendTo(busy, Get("/busy"));
  polite.Send(Get("/polite"));
  is_holding_ = false;
  EXPECT_EQ(polite.Receive().body, "polite");
  // First in, first out would be one of each connection before it.
  EXPECT_LE(busy_before_, kConnections / 4);
  for (HttpClient& client : busy) {
    for (int i = 0; i < kPipelined; ++i) {
      ASSERT_EQ(client.Receive().body, "busy");
    }
  }
}

}  // namespace http_turns_test
}  // namespace scorecast::coordinator

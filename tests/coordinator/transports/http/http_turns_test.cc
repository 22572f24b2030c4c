// Requests beside many others, which the server answers without the ranks.

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "coordinator/transports/connection/listening_socket.h"
#include "coordinator/transports/http/http_protocol.h"
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
    options.web.resources = {{"/busy",
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
    return AddTo(clients, server_.port(), own_address);
  }
  HttpClient& AddTo(std::deque<HttpClient>& clients, std::uint16_t port,
                    const std::string& own_address) {
    clients.emplace_back(port, own_address);
    EXPECT_EQ(clients.back().Call(Get("/busy")).status, 200);
    return clients.back();
  }

  /// The number of turns of 127.0.0.1, which has sent many requests, before a request of `other`.
  int BusyTurnsBefore(HttpClient& other) {
    std::deque<HttpClient> busy;
    for (int i = 0; i < kConnections; ++i) {
      AddTo(busy, "127.0.0.1");
    }
    // Both I/O threads are held until all requests are in the server's sockets.
    std::deque<HttpClient> holding;
    for (int i = 0; i < 2; ++i) {
      AddTo(holding, "127.0.0.1").Send(Get("/hold"));
    }
    EXPECT_TRUE(Eventually([this] { return held_ == 2; }));
    busy_ = 0;
    std::string requests;
    for (int i = 0; i < kPipelined; ++i) {
      requests += Get("/busy");
    }
    for (HttpClient& client : busy) {
      client.Send(requests);
    }
    other.Send(Get("/polite"));
    is_holding_ = false;
    EXPECT_EQ(other.Receive().body, "polite");
    for (HttpClient& client : busy) {
      for (int i = 0; i < kPipelined; ++i) {
        EXPECT_EQ(client.Receive().body, "busy");
      }
    }
    return busy_before_;
  }

  std::uint16_t ListenForProbes() {
    return server_.server().ListenForProbes(
        OpenListeningSocket("127.0.0.1", 0),
        MakeHttpProtocol(server_.service().endpoints(), Options()));
  }

  std::atomic<int> busy_ = 0;
  std::atomic<int> busy_before_ = -1;  ///< `busy_` when the polite request had its turn.
  std::atomic<int> held_ = 0;
  std::atomic<bool> is_holding_ = true;
  FakeHttpServer server_{{}, Options()};
};

/// First in, first out would be a turn of each busy connection.
constexpr int kFew = kConnections / 4;

TEST_F(HttpTurns, OfAnotherAddressAreFewTurnsAwayBesidePipelinedRequests) {
  std::deque<HttpClient> others;
  EXPECT_LE(BusyTurnsBefore(AddTo(others, "127.0.0.2")), kFew);
}

TEST_F(HttpTurns, OfAProbeAreFewTurnsAwayAlsoFromTheSameAddress) {
  std::deque<HttpClient> probes;
  EXPECT_LE(BusyTurnsBefore(AddTo(probes, ListenForProbes(), "127.0.0.1")), kFew);
}

TEST_F(HttpTurns, OfProbesHaveALimitForEachAddress) {
  const std::uint16_t port = ListenForProbes();
  std::deque<HttpClient> probes;
  for (int i = 0; i < 16; ++i) {
    AddTo(probes, port, "127.0.0.1");
  }
  EXPECT_TRUE(HttpClient(port).IsClosed());
  AddTo(probes, port, "127.0.0.2");
  EXPECT_EQ(server_.server().status().connections, 0);
  probes.pop_front();
  EXPECT_TRUE(Eventually([port] {
    try {
      return HttpClient(port).Call(Get("/busy")).status == 200;
    } catch (const std::exception&) {
      return false;  // The server has not seen yet that the other one has left.
    }
  }));
}

}  // namespace http_turns_test
}  // namespace scorecast::coordinator

// Many clients: limits, lost connections, and the steps of a shutdown.

#include "coordinator/transports/connection/request_server.h"

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/wire/frame.h"
#include "tests/coordinator/transports/socket/fake_socket_server.h"

namespace scorecast::coordinator {
namespace request_server_test {

using launcher::Client;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;
namespace asio = boost::asio;

constexpr auto kPatience = std::chrono::seconds(30);

TEST(RequestServer, ServesSeveralSocketsWithinTheSameLimits) {
  SocketOptions options;
  options.max_connections = 2;
  options.max_connections_per_address = 2;
  FakeSocketServer server(options);
  const auto first = server.Connect();
  Client second("127.0.0.1:" + std::to_string(ListenForFrames(server.server(), server.service())));
  EXPECT_TRUE(first->Call(NumberedRequest(1)).has_score());
  EXPECT_TRUE(second.Call(NumberedRequest(2)).has_score());
  EXPECT_EQ(server.server().status().connections, 2U);
  EXPECT_EQ(server.Connect()->Receive().error().reason(), "too_many_connections");
  server.server().StartDraining();
  EXPECT_EQ(first->Call(NumberedRequest(3)).error().reason(), "draining");
  EXPECT_EQ(second.Call(NumberedRequest(4)).error().reason(), "draining");
  server.server().CloseConnections(std::chrono::milliseconds(100));
  EXPECT_EQ(server.server().status().connections, 0U);
}

TEST(RequestServer, AConnectionThatBreaksAnywhereLeavesNothing) {
  FakeSocketServer server;
  const std::string frame = proto::ToFrame(NumberedRequest(1));
  for (std::size_t cut = 0; cut <= frame.size(); ++cut) {
    WriteBytes(*server.Connect(), frame.substr(0, cut));
  }
  EXPECT_TRUE(Eventually([&] { return server.server().status().connections == 0; }));
  server.scheduler().WaitIdle();
  EXPECT_TRUE(server.Connect()->Call(NumberedRequest(2)).has_score());
}

TEST(RequestServer, RefusesAConnectionBeyondTheLimitWithAnError) {
  SocketOptions options;
  options.max_connections = 2;
  options.max_connections_per_address = 2;
  FakeSocketServer server(options);
  auto first = server.Connect();
  const auto second = server.Connect();
  EXPECT_TRUE(first->Call(NumberedRequest(1)).has_score());
  EXPECT_TRUE(second->Call(NumberedRequest(1)).has_score());
  const auto third = server.Connect();
  third->Send(NumberedRequest(
      3));  // The server closes without reading this, and the refusal still arrives.
  const v1::Response refusal = third->Receive();
  EXPECT_EQ(refusal.error().code(), 503);
  EXPECT_EQ(refusal.error().reason(), "too_many_connections");
  EXPECT_THROW(third->Receive(), std::runtime_error);
  first.reset();
  EXPECT_TRUE(Eventually([&] {
    const v1::Response response = server.Connect()->Call(NumberedRequest(4));
    return response.has_score();
  }));
}

/// A client whose own address is `address`, one of the loopback addresses.
std::unique_ptr<asio::ip::tcp::socket> ConnectFrom(const std::string& address,
                                                   FakeSocketServer& server, asio::io_context& io) {
  auto socket = std::make_unique<asio::ip::tcp::socket>(io, asio::ip::tcp::v4());
  socket->bind({asio::ip::make_address(address), 0});
  socket->connect({asio::ip::make_address("127.0.0.1"), server.port()});
  return socket;
}

v1::Response ReceiveFrom(asio::ip::tcp::socket& socket) {
  proto::FrameHeader header{};
  asio::read(socket, asio::buffer(header));
  std::string message(proto::FrameLength(header), '\0');
  asio::read(socket, asio::buffer(message));
  v1::Response response;
  EXPECT_TRUE(response.ParseFromString(message));
  return response;
}

TEST(RequestServer, SlowClientsAtOneAddressLeaveRoomForOthers) {
  constexpr std::size_t kSlow = 50;
  SocketOptions options;
  options.max_connections = kSlow;
  options.read_timeout = std::chrono::seconds(3);  // Longer than a busy machine stalls.
  FakeSocketServer server(options);
  const std::string frame = proto::ToFrame(NumberedRequest(1));
  asio::io_context io;
  std::vector<std::unique_ptr<asio::ip::tcp::socket>> slow;
  for (std::size_t i = 0; i < kSlow; ++i) {
    slow.push_back(ConnectFrom("127.0.0.1", server, io));
  }
  EXPECT_TRUE(Eventually([&] { return server.server().status().connections == kSlow; }));

  const auto polite = ConnectFrom("127.0.0.2", server, io);
  asio::write(*polite, asio::buffer(frame));
  EXPECT_TRUE(ReceiveFrom(*polite).has_score());
  EXPECT_EQ(server.server().status().addresses, 2U);

  // The first half is served, byte by byte, until its time is over.
  for (std::size_t i = 0; i < kSlow / 2; ++i) {
    asio::write(*slow[i], asio::buffer(frame, 7));
  }
  for (std::size_t i = 0; i < kSlow; ++i) {
    const v1::Response refusal = ReceiveFrom(*slow[i]);
    EXPECT_EQ(refusal.error().code(), i < kSlow / 2 ? 408 : 503) << i;
    EXPECT_EQ(refusal.error().reason(), i < kSlow / 2 ? "request_timeout" : "too_many_connections");
    if (i >= kSlow / 2) {
      EXPECT_EQ(refusal.error().message(), "Too many connections from 127.0.0.1: more than " +
                                               std::to_string(kSlow / 2) + ".");
    }
  }
  slow.clear();
  EXPECT_TRUE(Eventually([&] { return server.server().status().connections == 1; }));
  EXPECT_EQ(server.server().status().addresses, 1U);
  EXPECT_THAT(
      server.server().status().refusals,
      ElementsAre(Pair("request_timeout", kSlow / 2), Pair("too_many_connections", kSlow / 2)));
  EXPECT_TRUE(server.Connect()->Call(NumberedRequest(2)).has_score()) << "the address is free";
}

/// Counts ended requests by endpoint, client and code.
class EndCounter : public RequestObserver {
 public:
  using Kind = std::tuple<std::string, std::string, int>;

  void OnIoWait(Clock::duration) override {}
  void OnEnd(const RequestEnd& end) override {
    const std::lock_guard lock(mutex_);
    ++counts_[{end.endpoint == nullptr ? "none" : std::string(end.endpoint->name()),
               std::string(end.client), end.code}];
  }
  std::map<Kind, int> counts() const {
    const std::lock_guard lock(mutex_);
    return counts_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<Kind, int> counts_;
};

TEST(RequestServer, TellsOfEveryRequestAlsoBeforeItsEndpointIsKnown) {
  EndCounter counter;
  SocketOptions options;
  options.max_connections = 2;
  options.max_connections_per_address = 1;
  options.max_request_bytes = 1000;
  FakeSocketServer server(options, {}, &counter);
  const auto client = server.Connect();
  EXPECT_TRUE(client->Call(NumberedRequest(1)).has_score());
  EXPECT_EQ(client->Call({}).error().code(), 400) << "names no endpoint";
  v1::Request fault = NumberedRequest(3);
  fault.mutable_score()->clear_query();
  EXPECT_EQ(client->Call(fault).error().code(), 400);
  v1::Request large = NumberedRequest(4);
  large.mutable_score()->mutable_query()->set_text(std::string(2000, 'x'));
  EXPECT_EQ(client->Call(large).error().code(), 413);
  EXPECT_EQ(server.Connect()->Receive().error().code(), 503) << "too many connections";
  using Kind = EndCounter::Kind;
  EXPECT_THAT(counter.counts(), UnorderedElementsAre(Pair(Kind{"score", "127.0.0.1", 200}, 1),
                                                     Pair(Kind{"score", "127.0.0.1", 400}, 1),
                                                     Pair(Kind{"none", "127.0.0.1", 400}, 1),
                                                     Pair(Kind{"none", "127.0.0.1", 413}, 1),
                                                     Pair(Kind{"none", "127.0.0.1", 503}, 1)));
}

TEST(RequestServer, ReportsItsClients) {
  FakeSocketServer server;
  server.cluster().Hold();
  const auto client = server.Connect();
  client->Send(NumberedRequest(1));
  client->Send(NumberedRequest(2));
  EXPECT_TRUE(Eventually([&] { return server.server().status().requests_in_flight == 2; }));
  v1::Request fault = NumberedRequest(3);
  fault.mutable_score()->clear_query();
  EXPECT_EQ(client->Call(fault).error().reason(), "missing_field");
  ClientsStatus status = server.server().status();
  EXPECT_EQ(status.connections, 1U);
  EXPECT_EQ(status.addresses, 1U);
  EXPECT_GT(status.held_reply_bytes, 0);
  EXPECT_THAT(status.refusals, ElementsAre(Pair("missing_field", 1)));
  server.cluster().Release();
  EXPECT_TRUE(client->Receive().has_score());
  EXPECT_TRUE(client->Receive().has_score());
  EXPECT_TRUE(Eventually([&] { return server.server().status().requests_in_flight == 0; }));
  EXPECT_TRUE(Eventually([&] { return server.server().status().held_reply_bytes == 0; }));
}

TEST(RequestServer, AShutdownRepliesToEveryRequestItHasRead) {
  constexpr std::uint64_t kRequests = 50;
  FakeSocketServer server;
  server.cluster().Hold();
  const auto client = server.Connect();
  for (std::uint64_t number = 0; number < kRequests; ++number) {
    client->Send(NumberedRequest(number));
  }
  const auto idle = server.Connect();
  const auto late = server.Connect();
  v1::Request fault = NumberedRequest(kRequests);
  fault.mutable_score()->clear_query();
  EXPECT_EQ(client->Call(fault).error().reason(), "missing_field") << "all were read";
  EXPECT_EQ(late->Call(fault).error().reason(), "missing_field");

  server.server().StartDraining();
  const v1::Response refusal = late->Call(NumberedRequest(1));
  EXPECT_EQ(refusal.error().code(), 503);
  EXPECT_EQ(refusal.error().reason(), "draining");
  EXPECT_TRUE(Eventually([&] {
    try {
      server.Connect();
      return false;
    } catch (const std::runtime_error&) {
      return true;
    }
  })) << "no new connections";

  // Unread bytes must not make the close a reset, which would lose the replies.
  WriteBytes(*client, std::string(100'000, '\0'));
  std::thread closing([&] {
    server.cluster().Release();
    server.scheduler().WaitIdle();
    server.server().CloseConnections(kPatience);
  });
  std::map<std::uint64_t, int> replies;
  try {
    while (true) {
      const v1::Response response = client->Receive();
      replies[response.request_id()] += response.has_score();
    }
  } catch (const std::runtime_error& end) {
    EXPECT_THAT(end.what(), HasSubstr("End of file")) << "no reset";
  }
  for (std::uint64_t number = 0; number < kRequests; ++number) {
    EXPECT_EQ(replies[number], number == 0 ? replies[0] : 1) << number;
  }
  EXPECT_THROW(idle->Receive(), std::runtime_error);
  closing.join();
  EXPECT_EQ(server.server().status().connections, 0U);
}

TEST(RequestServer, AShutdownDoesNotWaitForAClientThatDoesNotRead) {
  FakeSocketServer server;
  const auto client = server.Connect();
  for (std::uint64_t number = 0; number < 200; ++number) {
    v1::Request request = NumberedRequest(number);
    for (int item = 0; item < 120; ++item) {
      request.mutable_score()->add_items()->set_text("");
    }
    request.mutable_score()->set_top_logprobs(50);
    client->Send(request);
  }
  EXPECT_TRUE(Eventually([&] { return !server.cluster().plans().empty(); }));
  server.server().StartDraining();
  server.service().RefuseAll();
  server.scheduler().WaitIdle();
  server.server().CloseConnections(std::chrono::milliseconds(100));
  EXPECT_EQ(server.server().status().connections, 0U);
}

// A pass may be stuck for ever, so nothing that ends the server waits for it.
TEST(RequestServer, ItsDestructorDoesNotWaitForAPass) {
  FakeServer fake;
  auto server = std::make_unique<RequestServer>(fake.service, SocketOptions{}, 2);
  Client client("127.0.0.1:" + std::to_string(ListenForFrames(*server, fake.service)));
  fake.cluster.Hold();
  client.Send(NumberedRequest(1));
  ASSERT_TRUE(Eventually([&] { return !fake.cluster.plans().empty(); }));
  server.reset();
  EXPECT_THROW(client.Receive(), std::runtime_error);
  fake.cluster.Release();
  fake.scheduler.WaitIdle();
}

}  // namespace request_server_test
}  // namespace scorecast::coordinator

// The state of a server, as fronts are told it.

#include "coordinator/transports/socket/server_state.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "coordinator/schedule/queue/scheduler_status.h"
#include "tests/coordinator/access/keys_file.h"
#include "tests/coordinator/transports/socket/connection_checks.h"
#include "tests/coordinator/transports/socket/fake_socket_server.h"

namespace scorecast::coordinator {
namespace server_state_test {

using launcher::Client;
using std::chrono::milliseconds;

constexpr char kFrontKey[] = "sk-front-0123456789";

v1::Request Hello(std::uint32_t status_interval_ms, const std::string& front_key = kFrontKey) {
  v1::Request request;
  request.mutable_hello()->set_front_key(front_key);
  request.mutable_hello()->set_status_interval_ms(status_interval_ms);
  return request;
}

class ServerStateTest : public ::testing::Test {
 protected:
  explicit ServerStateTest(milliseconds idle_timeout = SocketOptions().idle_timeout)
      : server_(OptionsWith(front_keys_, idle_timeout)) {}

  static SocketOptions OptionsWith(std::shared_ptr<ApiKeys> front_keys, milliseconds idle_timeout) {
    SocketOptions options;
    options.idle_timeout = idle_timeout;
    options.front_keys = std::move(front_keys);
    return options;
  }

  /// Receives a Status that comes by itself.
  static v1::Status ReceiveStatus(Client& front) {
    const v1::Response response = front.Receive();
    EXPECT_EQ(response.request_id(), 0U);
    EXPECT_EQ(response.result_case(), v1::Response::RESULT_NOT_SET);
    EXPECT_TRUE(response.has_status());
    return response.status();
  }
  /// Receives the next response to a request.
  static v1::Response ReceiveResponse(Client& front) {
    v1::Response response = front.Receive();
    while (response.result_case() == v1::Response::RESULT_NOT_SET) {
      response = front.Receive();
    }
    return response;
  }

  const KeysFile file_{std::string("front ") + kFrontKey + "\n"};
  const std::shared_ptr<ApiKeys> front_keys_ = file_.Read();
  FakeSocketServer server_;
};

/// Ends silent connections soon.
class ImpatientServerStateTest : public ServerStateTest {
 protected:
  ImpatientServerStateTest() : ServerStateTest(std::chrono::seconds(2)) {}
};

TEST(RecentState, IsAskedForWhenItIsStale) {
  int asked = 0;
  Clock::time_point now{std::chrono::seconds(100)};
  RecentState recent([&asked] { return ServerState{.waiting_requests = ++asked}; },
                     [&now] { return now; });
  EXPECT_EQ(recent.Get().waiting_requests, 1);
  now += milliseconds(9);
  EXPECT_EQ(recent.Get().waiting_requests, 1);
  now += milliseconds(1);
  EXPECT_EQ(recent.Get().waiting_requests, 2);
  EXPECT_EQ(RecentState({}).Get(), ServerState());
}

TEST(StateOf, IsThatOfAllParts) {
  ServiceStatus status;
  status.cluster.ranks = {{.host = "a", .state = proto::RankState::kIdle}};
  status.scheduler.waiting_jobs = 1;
  status.scheduler.waiting_tokens = 20;
  status.scheduler.predicted_seconds = 0.5;
  status.scheduler.running_completions = 3;
  status.scheduler.cache.cached_pages = 4;
  ServerState state{.predicted_seconds = 0.5,
                    .waiting_requests = 1,
                    .waiting_tokens = 20,
                    .running_completions = 3,
                    .cached_pages = 4,
                    .ready = true};
  EXPECT_EQ(StateOf(status, /*is_draining=*/false), state);
  status.clients.emplace().requests_in_flight = 7;
  state.requests_in_flight = 7;
  state.draining = true;
  state.ready = false;
  EXPECT_EQ(StateOf(status, /*is_draining=*/true), state);
  status.cluster.ranks[0].seconds_since_heard = 10;
  state.draining = false;
  EXPECT_EQ(StateOf(status, /*is_draining=*/false), state);
}

TEST_F(ServerStateTest, FirstComesAtOnce) {
  const auto front = server_.Connect();
  front->Send(Hello(60'000));
  front->Send(NumberedRequest(1));
  EXPECT_TRUE(front->Receive().hello().trusted());
  EXPECT_TRUE(ReceiveStatus(*front).ready());
  EXPECT_EQ(front->Receive().request_id(), 1U);
}

TEST_F(ServerStateTest, ComesByItselfAsOftenAsAFrontWants) {
  const auto front = server_.Connect();
  front->Send(Hello(10));
  EXPECT_TRUE(front->Receive().hello().trusted());
  for (int i = 0; i < 3; ++i) {
    const v1::Status status = ReceiveStatus(*front);
    EXPECT_TRUE(status.ready());
    EXPECT_FALSE(status.draining());
  }
  server_.cluster().Hold();
  front->Send(NumberedRequest(1));
  ASSERT_TRUE(Eventually([&] { return !server_.cluster().plans().empty(); }));
  front->Send(NumberedRequest(2));
  EXPECT_TRUE(Eventually([&] {
    const v1::Status status = ReceiveStatus(*front);
    return status.waiting_requests() == 1 && status.waiting_tokens() > 0 &&
           status.requests_in_flight() == 2;
  }));
  server_.server().StartDraining();
  EXPECT_TRUE(Eventually([&] {
    const v1::Status status = ReceiveStatus(*front);
    return status.draining() && !status.ready();
  }));
}

TEST_F(ServerStateTest, ComesWithEveryLastResponse) {
  const auto front = server_.Connect();
  front->Send(Hello(0));
  EXPECT_TRUE(front->Receive().hello().trusted());
  front->Send(NumberedRequest(1));
  v1::Response response = ReceiveResponse(*front);
  EXPECT_TRUE(response.has_score());
  EXPECT_TRUE(response.status().ready());
  v1::Request fault = NumberedRequest(2);
  fault.mutable_score()->clear_query();
  front->Send(fault);
  response = ReceiveResponse(*front);
  ExpectError(response, 2, 400, "missing_field");
  EXPECT_TRUE(response.status().ready());
  v1::Request stream;
  stream.mutable_chunked()->add_chunks()->mutable_ids()->add_ids(100);
  stream.mutable_chunked()->add_questions()->mutable_ids()->add_ids('a');
  stream.mutable_chunked()->set_max_new_tokens(5);
  stream.mutable_chunked()->set_stream(true);
  front->Send(stream);
  response = ReceiveResponse(*front);
  EXPECT_TRUE(response.has_chunked_delta());
  while (response.has_chunked_delta()) {
    EXPECT_FALSE(response.has_status());
    response = ReceiveResponse(*front);
  }
  EXPECT_TRUE(response.has_chunked());
  EXPECT_TRUE(response.has_status());
}

TEST_F(ServerStateTest, NobodyElseIsToldIt) {
  const auto front = server_.Connect();
  v1::Request hello = Hello(0);
  hello.mutable_hello()->clear_status_interval_ms();
  EXPECT_TRUE(front->Call(hello).hello().trusted());
  EXPECT_FALSE(front->Call(NumberedRequest(1)).has_status()) << "it has not asked";
  const auto client = server_.Connect();
  const v1::Response response = client->Call(Hello(0, /*front_key=*/""));
  ExpectError(response, 0, 403, "not_a_front");
  EXPECT_EQ(response.error().param(), "status_interval_ms");
  EXPECT_EQ(client->Call(Hello(0, "sk-wrong-0123456789")).error().code(), 401);
  EXPECT_FALSE(client->Call(NumberedRequest(1)).has_status());
  EXPECT_EQ(client->Call(NumberedRequest(2)).request_id(), 2U) << "no state came before it";
}

TEST_F(ImpatientServerStateTest, AFrontWhoseKeyIsRevokedIsNotToldIt) {
  const auto front = server_.Connect();
  front->Send(Hello(10));
  EXPECT_TRUE(front->Receive().hello().trusted());
  ReceiveStatus(*front);
  file_.Write("second sk-second-0123456789\n");
  EXPECT_TRUE(front_keys_->Reload());
  front->Send(NumberedRequest(1));
  v1::Response response = ReceiveResponse(*front);
  ExpectError(response, 1, 401, "unauthorized");
  EXPECT_FALSE(response.has_status());
  front->Send(Hello(10, /*front_key=*/""));
  ExpectError(ReceiveResponse(*front), 0, 401, "unauthorized");
  EXPECT_TRUE(Eventually([&] { return server_.server().status().connections == 0; }))
      << "it is silent";
}

TEST_F(ServerStateTest, AFrontThatLeavesEndsIt) {
  for (int i = 0; i < 3; ++i) {
    const auto front = server_.Connect();
    front->Send(Hello(10));
    EXPECT_TRUE(front->Receive().hello().trusted());
    ReceiveStatus(*front);
  }
  EXPECT_TRUE(Eventually([&] { return server_.server().status().connections == 0; }));
}

}  // namespace server_state_test
}  // namespace scorecast::coordinator

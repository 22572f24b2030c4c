// Requests that their client cancels, at each point of their way.

#include <array>
#include <atomic>
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "coordinator/endpoints/endpoint.h"
#include "coordinator/json/body_members.h"
#include "coordinator/request/request_error.h"
#include "coordinator/schedule/queue/scheduler_status.h"
#include "proto/wire/frame.h"
#include "tests/coordinator/endpoints/held_endpoint.h"
#include "tests/coordinator/transports/ended_clients.h"
#include "tests/coordinator/transports/socket/connection_checks.h"
#include "tests/coordinator/transports/socket/fake_socket_server.h"

namespace scorecast::coordinator {
namespace cancel_test {

using launcher::Client;

constexpr std::uint64_t kCancelId = 1'000'000;

v1::Request CancelOf(std::uint64_t request_id) {
  v1::Request request;
  request.set_request_id(kCancelId);
  request.mutable_cancel()->set_request_id(request_id);
  return request;
}

v1::Request WithText(std::uint64_t number, std::size_t bytes) {
  v1::Request request = NumberedRequest(number);
  request.mutable_score()->mutable_query()->set_text(std::string(bytes, 'x'));
  return request;
}

/// Receives the answer to a Cancel.
void ExpectCancelled(const v1::Response& response, std::uint32_t requests) {
  EXPECT_EQ(response.request_id(), kCancelId);
  ASSERT_TRUE(response.has_cancelled()) << response.error().message();
  EXPECT_EQ(response.cancelled().requests(), requests);
}

/// Cancels a request that is in flight.
void Cancel(Client& client, std::uint64_t request_id) {
  client.Send(CancelOf(request_id));
  ExpectError(client.Receive(), request_id, 499, "cancelled");
  ExpectCancelled(client.Receive(), 1);
}

/// A gate that the test opens.
class Gate {
 public:
  void Open() { open_.set_value(); }
  void Pass() {
    ++arrived_;
    opened_.wait();
  }
  int arrived() const { return arrived_; }

 private:
  std::promise<void> open_;
  std::shared_future<void> opened_ = open_.get_future().share();
  std::atomic<int> arrived_ = 0;
};

/// An endpoint whose replies may be as long as all that a connection may hold, and are being formed
/// until the test lets them. So are long requests parsed. It has the message of /v1/score.
class LongReplies : public Endpoint {
 public:
  std::string_view name() const override { return "long"; }
  std::span<const std::string_view> urls() const override {
    static constexpr std::array<std::string_view, 1> kUrls = {"/v1/score"};
    return kUrls;
  }
  int message_field() const override { return v1::Request::kScore; }
  ParsedRequest FromJson(BodyJson) const override { return Make(); }
  ParsedRequest FromMessage(v1::Request message) const override {
    if (message.ByteSizeLong() > static_cast<std::size_t>(kLongBytes)) {
      parsing_->Pass();
    }
    return Make();
  }

  Gate& parsing() { return *parsing_; }
  Gate& forming() { return *forming_; }

 private:
  struct Reading : Readout {
    proto::Expected<std::unique_ptr<EndpointResponse>> Respond(const JobRows&) override {
      forming->Pass();
      return proto::Unexpected(BadRequest("formed", "The reply was formed.", ""));
    }
    std::string Summary() const override { return ""; }
    std::int64_t Items() const override { return 0; }

    std::shared_ptr<Gate> forming;
  };
  struct Request : EndpointRequest {
    proto::Expected<PreparedRequest> Prepare(const RequestContext&, const OnDelta&) && override {
      auto readout = std::make_shared<Reading>();
      readout->forming = forming;
      PreparedRequest prepared;
      prepared.readout = std::move(readout);
      return prepared;
    }
    std::int64_t ResponseBytesBound(const proto::ModelConfig&) const override {
      return std::int64_t{4} << 20;
    }

    std::shared_ptr<Gate> forming;
  };

  ParsedRequest Make() const {
    auto request = std::make_unique<Request>();
    request->forming = forming_;
    return std::unique_ptr<EndpointRequest>(std::move(request));
  }

  const std::shared_ptr<Gate> parsing_ = std::make_shared<Gate>();
  const std::shared_ptr<Gate> forming_ = std::make_shared<Gate>();
};

/// Whether the server holds nothing for its clients.
bool HoldsNothing(const RequestServer& server) {
  const ClientsStatus status = server.status();
  return status.held_request_bytes == 0 && status.held_reply_bytes == 0 &&
         status.requests_in_flight == 0;
}

TEST(Cancel, ARequestThatIsNotParsedYet) {
  HeldEndpoint endpoint;
  const std::array<const Endpoint*, 1> endpoints = {&endpoint};
  FakeServer fake(FakeServer::MultiItem(), {}, endpoints);
  RequestServer server(fake.service, {}, 2);
  const std::string address = "127.0.0.1:" + std::to_string(ListenForFrames(server, fake.service));
  Client one(address);
  Client other(address);
  one.Send(WithText(1, 100'000));
  other.Send(WithText(1, 100'000));
  // One of them is being parsed, by chance, and the other waits for its turn.
  Cancel(one, 1);
  Cancel(other, 1);
  EXPECT_EQ(server.status().requests_in_flight, 0);
  endpoint.Release();
  EXPECT_TRUE(Eventually([&] { return HoldsNothing(server); }));
  ExpectError(one.Call(WithText(2, 100)), 2, 400, "parsed");
  ExpectError(other.Call(WithText(2, 100)), 2, 400, "parsed");
}

TEST(Cancel, ARequestWhoseTextIsBeingTokenized) {
  FakeSocketServer server;
  const auto client = server.Connect();
  for (const std::size_t bytes : {50'000, 100'000}) {
    server.tokenizer().Hold();
    client->Send(WithText(1, bytes));
    EXPECT_TRUE(Eventually([&] { return server.server().status().held_request_bytes > 0; }));
    Cancel(*client, 1);
    server.tokenizer().Release();
    EXPECT_TRUE(Eventually([&] { return HoldsNothing(server.server()); })) << bytes;
  }
  EXPECT_TRUE(client->Call(NumberedRequest(2)).has_score());
  EXPECT_EQ(server.cluster().plans().size(), 1U) << "only that one was computed";
}

TEST(Cancel, ARequestThatIsQueued) {
  EndedClients ended;
  FakeSocketServer server({}, {}, &ended);
  server.cluster().Hold();
  const auto client = server.Connect();
  client->Send(NumberedRequest(1));
  ASSERT_TRUE(Eventually([&] { return !server.cluster().plans().empty(); }));
  client->Send(NumberedRequest(2));
  ASSERT_TRUE(Eventually([&] { return server.scheduler().status().waiting_jobs == 1; }));
  Cancel(*client, 2);
  EXPECT_EQ(server.scheduler().status().waiting_jobs, 0);
  server.cluster().Release();
  const v1::Response response = client->Receive();
  EXPECT_EQ(response.request_id(), 1U);
  EXPECT_TRUE(response.has_score());
  EXPECT_EQ(server.cluster().plans().size(), 1U);
  EXPECT_TRUE(Eventually([&] { return HoldsNothing(server.server()); }));
  EXPECT_EQ(ended.Take(), (std::vector<std::string>{"127.0.0.1 499", "127.0.0.1 200"}));
}

TEST(Cancel, ARequestInAPassIsAnsweredBeforeThePassEnds) {
  FakeSocketServer server;
  server.cluster().Hold();
  const auto client = server.Connect();
  client->Send(NumberedRequest(1));
  ASSERT_TRUE(Eventually([&] { return !server.cluster().plans().empty(); }));
  Cancel(*client, 1);
  EXPECT_EQ(server.server().status().requests_in_flight, 0);
  server.cluster().Release();
  EXPECT_TRUE(client->Call(NumberedRequest(2)).has_score()) << "no other reply comes before it";
  EXPECT_TRUE(Eventually([&] { return HoldsNothing(server.server()); }));
}

TEST(Cancel, AStream) {
  FakeSocketServer server;
  const auto client = server.Connect();
  v1::Request request;
  request.set_request_id(1);
  request.mutable_chunked()->add_chunks()->mutable_ids()->add_ids(100);
  request.mutable_chunked()->add_questions()->mutable_ids()->add_ids('a');
  request.mutable_chunked()->set_max_new_tokens(400);
  request.mutable_chunked()->set_stream(true);
  server.cluster().HoldAfter(5);  // Long before the last token.
  client->Send(request);
  EXPECT_TRUE(client->Receive().has_chunked_delta());
  client->Send(CancelOf(1));
  v1::Response response = client->Receive();
  while (response.has_chunked_delta()) {
    response = client->Receive();
  }
  ExpectError(response, 1, 499, "cancelled");
  ExpectCancelled(client->Receive(), 1);
  const std::size_t before = server.cluster().plans().size();
  server.cluster().Release();
  server.scheduler().WaitIdle();
  EXPECT_LE(server.cluster().plans().size(), before + 1) << "its generation has ended";
  EXPECT_TRUE(client->Call(NumberedRequest(2)).has_score()) << "no delta comes behind the error";
  EXPECT_TRUE(Eventually([&] { return HoldsNothing(server.server()); }));
}

TEST(Cancel, ARequestWhoseLongReplyIsBeingFormed) {
  LongReplies endpoint;
  const std::array<const Endpoint*, 1> endpoints = {&endpoint};
  FakeServer fake(FakeServer::MultiItem(), {}, endpoints);
  RequestServer server(fake.service, {}, 2);
  Client client("127.0.0.1:" + std::to_string(ListenForFrames(server, fake.service)));
  const v1::Request request = WithText(1, 100'000);
  client.Send(request);
  ASSERT_TRUE(Eventually([&] { return endpoint.parsing().arrived() == 1; }));
  // The Cancel has begun to be read when the reply comes to hold all the room.
  const std::string cancel = proto::ToFrame(CancelOf(1));
  WriteBytes(client, cancel.substr(0, proto::kFrameHeaderBytes));
  const std::size_t bytes = request.ByteSizeLong() + cancel.size() - proto::kFrameHeaderBytes;
  ASSERT_TRUE(Eventually(
      [&] { return server.status().held_request_bytes == static_cast<std::int64_t>(bytes); }));
  endpoint.parsing().Open();
  ASSERT_TRUE(Eventually([&] { return endpoint.forming().arrived() == 1; }));
  WriteBytes(client, cancel.substr(proto::kFrameHeaderBytes));
  ExpectError(client.Receive(), 1, 499, "cancelled");
  ExpectCancelled(client.Receive(), 1);
  endpoint.forming().Open();
  ExpectError(client.Call(WithText(2, 100)), 2, 400, "formed");
  EXPECT_TRUE(Eventually([&] { return HoldsNothing(server); }));
}

TEST(Cancel, WhatIsNotInFlightIsNoError) {
  FakeSocketServer server;
  const auto client = server.Connect();
  ExpectCancelled(client->Call(CancelOf(1)), 0);
  EXPECT_TRUE(client->Call(NumberedRequest(1)).has_score());
  ExpectCancelled(client->Call(CancelOf(1)), 0);
  server.cluster().Hold();
  client->Send(NumberedRequest(1));
  Cancel(*client, 1);
  ExpectCancelled(client->Call(CancelOf(1)), 0);
}

TEST(Cancel, OnlyRequestsOfItsConnection) {
  FakeSocketServer server;
  server.cluster().Hold();
  const auto one = server.Connect();
  const auto other = server.Connect();
  one->Send(NumberedRequest(1));
  ASSERT_TRUE(Eventually([&] { return !server.cluster().plans().empty(); }));
  ExpectCancelled(other->Call(CancelOf(1)), 0);
  server.cluster().Release();
  EXPECT_TRUE(one->Receive().has_score());
}

TEST(Cancel, AllRequestsThatHaveTheId) {
  FakeSocketServer server;
  server.cluster().Hold();
  const auto client = server.Connect();
  for (const std::uint64_t number : {7, 8, 7}) {
    client->Send(NumberedRequest(number));
  }
  client->Send(CancelOf(7));
  ExpectError(client->Receive(), 7, 499, "cancelled");
  ExpectError(client->Receive(), 7, 499, "cancelled");
  ExpectCancelled(client->Receive(), 2);
  server.cluster().Release();
  EXPECT_EQ(client->Receive().request_id(), 8U);
}

TEST(Cancel, IsReadWhileNoFurtherRequestMayBegin) {
  FakeSocketServer server;
  server.cluster().Hold();
  const auto client = server.Connect();
  constexpr std::uint64_t kMaxInFlight = 256;
  for (std::uint64_t number = 0; number < kMaxInFlight; ++number) {
    client->Send(NumberedRequest(number));
  }
  Cancel(*client, 200);
  client->Send(NumberedRequest(kMaxInFlight));
  EXPECT_TRUE(Eventually([&] {
    return server.server().status().requests_in_flight == static_cast<std::int64_t>(kMaxInFlight);
  })) << "it has the place of the cancelled one";
  server.cluster().Release();
  std::map<std::uint64_t, int> replies;
  for (std::uint64_t i = 0; i < kMaxInFlight; ++i) {
    const v1::Response response = client->Receive();
    EXPECT_TRUE(response.has_score()) << response.error().message();
    ++replies[response.request_id()];
  }
  EXPECT_EQ(replies.size(), kMaxInFlight);
  EXPECT_EQ(replies.count(200), 0U);
}

TEST(Cancel, RequestsThatWaitToBeginAllDo) {
  FakeSocketServer server;
  server.tokenizer().Hold();
  const auto client = server.Connect();
  client->Send(WithText(1, 50'000));
  EXPECT_TRUE(Eventually([&] { return server.server().status().requests_in_flight == 1; }));
  std::uint64_t number = 2;
  for (const std::size_t bytes : {100, 6'000, 90'000, 100}) {
    client->Send(WithText(number++, bytes));
  }
  server.tokenizer().Release();
  std::map<std::uint64_t, int> codes;  // 0 for a response.
  for (int i = 0; i < 5; ++i) {
    const v1::Response response = client->Receive();
    codes[response.request_id()] = response.error().code();
  }
  EXPECT_EQ(codes, (std::map<std::uint64_t, int>{{1, 400}, {2, 0}, {3, 400}, {4, 400}, {5, 0}}))
      << "the long texts have too many tokens";
}

TEST(Cancel, AClientThatLeavesWhileItsRequestWaitsToBeginIsNoticed) {
  for (const std::size_t bytes : {100, 6'000, 90'000}) {
    FakeSocketServer server;
    server.tokenizer().Hold();
    auto client = server.Connect();
    client->Send(WithText(1, 50'000));
    client->Send(WithText(2, bytes));
    EXPECT_TRUE(Eventually([&] { return server.server().status().requests_in_flight == 1; }));
    client.reset();
    EXPECT_TRUE(Eventually([&] { return server.server().status().connections == 0; })) << bytes;
    server.tokenizer().Release();
    EXPECT_TRUE(Eventually([&] { return HoldsNothing(server.server()); })) << bytes;
  }
}

TEST(Cancel, EveryRequestHasOneLastReplyWheneverTheCancelComes) {
  FakeSocketServer server;
  const auto client = server.Connect();
  constexpr std::uint64_t kRequests = 200;
  std::uint64_t answers = 0;    // To Cancels.
  std::uint32_t cancelled = 0;  // Requests, as these say.
  std::uint32_t errors = 0;
  std::map<std::uint64_t, int> replies;
  const auto receive = [&] {
    const v1::Response response = client->Receive();
    if (response.has_cancelled()) {
      ++answers;
      cancelled += response.cancelled().requests();
    } else if (!response.has_chunked_delta()) {
      errors += response.error().reason() == "cancelled" ? 1 : 0;
      ++replies[response.request_id()];
    }
    return !response.has_chunked_delta();
  };
  for (std::uint64_t number = 0; number < kRequests; ++number) {
    v1::Request request = NumberedRequest(number);
    if (number % 3 == 0) {
      request = v1::Request();
      request.set_request_id(number);
      request.mutable_chunked()->add_chunks()->mutable_ids()->add_ids(100);
      request.mutable_chunked()->add_questions()->mutable_ids()->add_ids('a');
      request.mutable_chunked()->set_max_new_tokens(static_cast<std::int64_t>(1 + number % 7));
      request.mutable_chunked()->set_stream(true);
    }
    client->Send(request);
    // Some Cancels come at once, and some when the request may be over.
    for (std::uint64_t i = 0; i < number % 2; ++i) {
      while (!receive()) {
      }
    }
    client->Send(CancelOf(number));
  }
  while (replies.size() < kRequests || answers < kRequests) {
    receive();
  }
  for (const auto& [number, count] : replies) {
    EXPECT_EQ(count, 1) << number;
  }
  EXPECT_EQ(errors, cancelled);
  ExpectCancelled(client->Call(CancelOf(kRequests)), 0);
  EXPECT_TRUE(Eventually([&] { return HoldsNothing(server.server()); }));
}

}  // namespace cancel_test
}  // namespace scorecast::coordinator

// Long texts and long replies delay no other client, and end when nobody waits for them any more.

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "coordinator/transports/socket/frame_protocol.h"
#include "tests/coordinator/endpoints/held_endpoint.h"
#include "tests/coordinator/endpoints/stuck_endpoint.h"
#include "tests/coordinator/endpoints/throwing_endpoint.h"
#include "tests/coordinator/transports/socket/connection_checks.h"
#include "tests/coordinator/transports/socket/fake_socket_server.h"

namespace scorecast::coordinator {
namespace long_work_test {

using launcher::Client;

/// Its text is tokenized only when the tokenizer is released.
v1::Request WithText(std::uint64_t number, std::size_t bytes) {
  v1::Request request = NumberedRequest(number);
  request.mutable_score()->mutable_query()->set_text(std::string(bytes, 'x'));
  return request;
}

/// More clients than threads, each with a text that is being tokenized or waits for it.
std::vector<std::unique_ptr<Client>> SendTexts(FakeSocketServer& server, std::size_t bytes) {
  server.tokenizer().Hold();
  std::vector<std::unique_ptr<Client>> clients;
  for (std::uint64_t number = 0; number < 8; ++number) {
    clients.push_back(server.Connect());
    clients.back()->Send(WithText(number, bytes));
  }
  return clients;
}

// The texts are too short to be parsed by a thread of their own.
TEST(LongWork, TextsOf60KilobytesDelayNoShortRequest) {
  FakeSocketServer server;
  const auto slow = SendTexts(server, 60'000);
  EXPECT_TRUE(server.Connect()->Call(NumberedRequest(9)).has_score());
  server.tokenizer().Release();
  for (std::uint64_t number = 0; number < slow.size(); ++number) {
    ExpectError(slow[number]->Receive(), number, 400, "sequence_too_long");
  }
}

TEST(LongWork, LongTextsDelayNoLongReply) {
  FakeSocketServer server;
  const auto slow = SendTexts(server, 100'000);
  v1::Request request = NumberedRequest(9);
  request.mutable_score()->clear_items();
  for (int item = 0; item < 125; ++item) {
    request.mutable_score()->add_items()->set_text("");
  }
  request.mutable_score()->set_top_logprobs(50);
  const v1::Response response = server.Connect()->Call(request);
  EXPECT_TRUE(response.has_score()) << response.error().message();
  EXPECT_GT(response.ByteSizeLong(), std::size_t{64} << 10);
  server.tokenizer().Release();
}

// Parsing shows a request's deadline, so it does not wait for the texts of others.
TEST(LongWork, ADeadlinePassesWhileALongTextWaitsItsTurn) {
  FakeSocketServer server;
  const auto slow = SendTexts(server, 100'000);
  v1::Request request = WithText(9, 100'000);
  request.mutable_score()->set_timeout_ms(20);
  ExpectError(server.Connect()->Call(request), 9, 504, "deadline_passed");
  server.tokenizer().Release();
}

TEST(LongWork, TheBytesOfATextAreHeldUntilItIsTokenized) {
  SocketOptions options;
  options.max_request_bytes = 200'000;
  options.max_held_bytes = 250'000;
  FakeSocketServer server(options);
  server.tokenizer().Hold();
  auto one = server.Connect();
  auto other = server.Connect();
  one->Send(WithText(1, 150'000));
  other->Send(WithText(1, 150'000));
  // Which client comes too late is chance.
  ASSERT_TRUE(
      Eventually([&] { return one->socket().available() > 0 || other->socket().available() > 0; }));
  if (other->socket().available() == 0) {
    std::swap(one, other);
  }
  ExpectError(other->Receive(), 0, 503, "overloaded");
  server.tokenizer().Release();
  ExpectError(one->Receive(), 1, 400, "sequence_too_long");
  EXPECT_TRUE(Eventually([&] {
    return other->Call(WithText(2, 150'000)).error().reason() == "sequence_too_long";
  })) << "the bytes are free again";
}

TEST(LongWork, TheTextsOfAnAddressWaitForEachOthersRoom) {
  SocketOptions options;
  options.max_held_bytes_per_address = 200'000;
  FakeSocketServer server(options);
  const auto slow = SendTexts(server, 150'000);
  const auto held = [&] { return server.server().status().held_request_bytes; };
  constexpr std::int64_t kTokens = 4 * 150'000;
  ASSERT_TRUE(Eventually([&] { return held() > kTokens; }));
  EXPECT_TRUE(server.Connect()->Call(NumberedRequest(9)).has_score()) << "a short one has room";
  // The limit, one request beyond it, and the tokens that two threads make.
  EXPECT_LT(held(), 200'000 + 160'000 + 2 * kTokens);
  server.tokenizer().Release();
  for (std::uint64_t number = 0; number < slow.size(); ++number) {
    ExpectError(slow[number]->Receive(), number, 400, "sequence_too_long");
  }
  EXPECT_TRUE(Eventually([&] { return held() == 0; }));
}

TEST(LongWork, ClientsThatWaitForRoomMayLeave) {
  SocketOptions options;
  options.max_held_bytes_per_address = 200'000;
  FakeSocketServer server(options);
  auto slow = SendTexts(server, 150'000);
  ASSERT_TRUE(Eventually([&] { return server.server().status().held_request_bytes > 200'000; }));
  slow.clear();
  server.tokenizer().Release();
  ExpectError(server.Connect()->Call(WithText(9, 150'000)), 9, 400, "sequence_too_long");
  EXPECT_TRUE(Eventually([&] { return server.server().status().held_request_bytes == 0; }));
}

TEST(LongWork, ALongMessageWhoseTurnDoesNotComeIsRefused) {
  HeldEndpoint endpoint;
  const std::array<const Endpoint*, 1> endpoints = {&endpoint};
  FakeServer fake(FakeServer::MultiItem(), {}, endpoints);
  SocketOptions options;
  options.long_patience = std::chrono::milliseconds(50);
  RequestServer server(fake.service, options, 2);
  const std::uint16_t port = ListenForFrames(server, fake.service);
  const auto connect = [&] {
    return std::make_unique<Client>("127.0.0.1:" + std::to_string(port));
  };
  const auto first = connect();
  first->Send(WithText(7, 100'000));
  std::vector<std::unique_ptr<Client>> others;
  for (std::uint64_t number = 0; number < 4; ++number) {
    others.push_back(connect());
    others.back()->Send(WithText(10 + number, 100'000));
  }
  // One of them is being parsed, by chance. The others do not wait for it.
  EXPECT_TRUE(Eventually([&] { return server.status().refusals["overloaded"] == 4; }));
  ExpectError(connect()->Call(WithText(9, 1000)), 9, 400, "parsed");
  endpoint.Release();
  std::map<std::string, int> reasons;
  for (std::uint64_t number = 0; number < others.size(); ++number) {
    const v1::Response response = others[number]->Receive();
    EXPECT_EQ(response.request_id(), 10 + number);
    ++reasons[response.error().reason()];
    if (response.error().reason() == "overloaded") {
      EXPECT_EQ(response.error().code(), 503);
      EXPECT_GE(response.error().retry_after_seconds(), 1);
    }
  }
  ++reasons[first->Receive().error().reason()];
  EXPECT_EQ(reasons, (std::map<std::string, int>{{"overloaded", 4}, {"parsed", 1}}));
  EXPECT_TRUE(Eventually([&] { return server.status().held_request_bytes == 0; }));
  ExpectError(others[0]->Call(WithText(30, 100'000)), 30, 400, "parsed");
}

TEST(LongWork, StopsWhenItsClientLeaves) {
  const StuckEndpoint endpoint;
  const std::array<const Endpoint*, 1> endpoints = {&endpoint};
  FakeServer fake(FakeServer::MultiItem(), {}, endpoints);
  RequestServer server(fake.service, {}, 2);
  const std::uint16_t port = ListenForFrames(server, fake.service);
  const auto connect = [&] {
    return std::make_unique<Client>("127.0.0.1:" + std::to_string(port));
  };
  std::vector<std::unique_ptr<Client>> clients;
  for (std::uint64_t number = 0; number < 5; ++number) {
    clients.push_back(connect());
    clients.back()->Send(WithText(number, 2000));
  }
  EXPECT_TRUE(Eventually([&] { return endpoint.begun() == 5; }))
      << "two at the same time, which give way to the others";
  clients.clear();
  EXPECT_TRUE(Eventually([&] { return server.status().connections == 0; }));
  EXPECT_TRUE(Eventually([&] { return endpoint.stopped() == endpoint.begun(); }));
  EXPECT_TRUE(fake.service.WaitAllOver(std::chrono::seconds(30)));
}

TEST(LongWork, ARequestThatThrowsEndsNothingElse) {
  using Where = ThrowingEndpoint::Where;
  for (const Where where : {Where::kParsing, Where::kPreparing, Where::kResponding}) {
    const ThrowingEndpoint endpoint(where);
    const std::array<const Endpoint*, 1> endpoints = {&endpoint};
    FakeServer fake(FakeServer::MultiItem(), {}, endpoints);
    RequestServer server(fake.service, {}, 2);
    const std::uint16_t port = ListenForFrames(server, fake.service);
    Client client("127.0.0.1:" + std::to_string(port));
    for (const std::size_t bytes : {10, 2000, 100'000}) {
      // A message that was not parsed has no id.
      ExpectError(client.Call(WithText(7, bytes)), where == Where::kParsing ? 0 : 7, 503,
                  "overloaded");
    }
  }
}

}  // namespace long_work_test
}  // namespace scorecast::coordinator

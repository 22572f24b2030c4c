// One client of the request socket: frames, errors, replies, and clients that leave, or that read
// slowly or not at all.

#include "coordinator/transports/connection/connection.h"

#include <chrono>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/schedule/queue/scheduler_status.h"
#include "proto/wire/frame.h"
#include "tests/coordinator/transports/socket/connection_checks.h"
#include "tests/coordinator/transports/socket/fake_socket_server.h"

namespace scorecast::coordinator {
namespace connection_test {

using launcher::Client;

/// A frame around bytes that need not be a message.
std::string FrameOf(const std::string& message) {
  std::string frame;
  for (const unsigned shift : {24U, 16U, 8U, 0U}) {
    frame.push_back(static_cast<char>((message.size() >> shift) & 0xFFU));
  }
  frame += message;
  return frame;
}

TEST(Connection, RepliesWithTheResponseOfTheEndpoint) {
  FakeSocketServer server;
  const auto client = server.Connect();
  for (std::uint64_t number : {0, 1, 2, 3, 4}) {
    const v1::Request request = NumberedRequest(number);
    const v1::Response response = client->Call(request);
    EXPECT_EQ(response.request_id(), number);
    EXPECT_EQ(ScoresOf(response.score()), ScoresOf(server.ResponseTo(request).score()));
    EXPECT_EQ(response.score().scores_size(), request.score().items_size());
    EXPECT_GT(response.score().usage().prompt_tokens(), 0);
    EXPECT_GE(response.score().timings().total_ms(), response.score().timings().forward_ms());
  }
}

TEST(Connection, TakesAFrameInAnyPieces) {
  FakeSocketServer server;
  const auto client = server.Connect();
  for (const char byte : proto::ToFrame(NumberedRequest(3))) {
    WriteBytes(*client, std::string(1, byte));
  }
  EXPECT_EQ(client->Receive().request_id(), 3U);
  std::string many;
  for (std::uint64_t number = 0; number < 40; ++number) {
    many += proto::ToFrame(NumberedRequest(number));
  }
  WriteBytes(*client, many);
  std::map<std::uint64_t, int> replies;
  for (int i = 0; i < 40; ++i) {
    ++replies[client->Receive().request_id()];
  }
  EXPECT_EQ(replies.size(), 40U);
}

TEST(Connection, RespondsInAnyOrder) {
  FakeSocketServer server;
  server.cluster().Hold();
  const auto client = server.Connect();
  client->Send(NumberedRequest(1));
  v1::Request fault = NumberedRequest(2);
  fault.mutable_score()->clear_query();
  ExpectError(client->Call(fault), 2, 400, "missing_field");
  server.cluster().Release();
  EXPECT_EQ(client->Receive().request_id(), 1U);
}

TEST(Connection, GoesOnAfterBadFrames) {
  SocketOptions options;
  options.max_request_bytes = 100'000;
  FakeSocketServer server(options);
  const auto client = server.Connect();
  WriteBytes(*client, FrameOf(std::string(100'001, 'x')));
  ExpectError(client->Receive(), 0, 413, "request_too_large");
  WriteBytes(*client, FrameOf("\xff\xff\xff"));
  ExpectError(client->Receive(), 0, 400, "not_a_message");
  WriteBytes(*client, FrameOf(""));
  ExpectError(client->Receive(), 0, 400, "unknown_endpoint");
  v1::Request request;
  request.set_request_id(77);
  ExpectError(client->Call(request), 77, 400, "unknown_endpoint");
  request = NumberedRequest(3);
  request.mutable_score()->clear_query();
  ExpectError(client->Call(request), 3, 400, "missing_field");
  // request_id: 5 score { query { text: "\xff" } }, which is no UTF-8.
  WriteBytes(*client, FrameOf("\x08\x05\x12\x05\x0a\x03\x0a\x01\xff"));
  ExpectError(client->Receive(), 0, 400, "not_a_message");
  EXPECT_TRUE(client->Call(NumberedRequest(5)).has_score());
}

TEST(Connection, TheLargestFrameIsTakenAndOneByteMoreIsNot) {
  v1::Request request = NumberedRequest(1);
  SocketOptions options;
  options.max_request_bytes = static_cast<std::int64_t>(request.ByteSizeLong());
  FakeSocketServer server(options);
  const auto client = server.Connect();
  EXPECT_TRUE(client->Call(request).has_score());
  request.mutable_score()->mutable_query()->mutable_text()->push_back('x');
  ExpectError(client->Call(request), 0, 413, "request_too_large");
}

TEST(Connection, DropsTheRequestsOfAClientThatLeaves) {
  v1::Request fault = NumberedRequest(20);
  fault.mutable_score()->clear_query();
  ExpectRequestsOfALeavingClientDropped(NumberedRequest, fault);
}

TEST(Connection, SaysWhenToRetryIfTheQueueIsFull) {
  FakeSocketServer server({}, {.max_queue = 2});
  server.cluster().Hold();
  const auto client = server.Connect();
  for (std::uint64_t number = 0; number < 4; ++number) {
    client->Send(NumberedRequest(number));
  }
  // One request is in the pass, two wait.
  const v1::Response refusal = client->Receive();
  ExpectError(refusal, 3, 429, "queue_full");
  EXPECT_GE(refusal.error().retry_after_seconds(), 1);
  server.cluster().Release();
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(client->Receive().has_score());
  }
}

TEST(Connection, SaysWhenToRetryIfTheWaitIsTooLong) {
  FakeSocketServer server(
      {}, {.max_wait_seconds = 10,
           .max_pass_seconds = 1,
           .time_model = PassTimeModel(PassRates{.overhead = 0, .row = 1, .key = 0, .read = 0})});
  server.cluster().Hold();
  const auto client = server.Connect();
  for (std::uint64_t number = 0; number < 3; ++number) {
    client->Send(NumberedRequest(number));
  }
  const v1::Response refusal = client->Receive();
  ExpectError(refusal, 2, 429, "wait_too_long");
  EXPECT_GE(refusal.error().retry_after_seconds(), 1);
  // Another connection is another client.
  const auto other = server.Connect();
  other->Send(NumberedRequest(3));
  server.cluster().Release();
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(client->Receive().has_score());
  }
  EXPECT_TRUE(other->Receive().has_score());
}

TEST(Connection, ReportsADeadlineThatPassed) {
  FakeSocketServer server;
  server.cluster().Hold();
  const auto client = server.Connect();
  client->Send(NumberedRequest(0));
  v1::Request hurried = NumberedRequest(1);
  hurried.mutable_score()->set_timeout_ms(1);
  client->Send(hurried);
  ExpectError(client->Receive(), 1, 504, "deadline_passed");
  // The deadline may pass while the request is being queued. Its job is then dropped at once after.
  EXPECT_TRUE(Eventually([&] { return server.scheduler().status().waiting_jobs == 0; }));
  server.cluster().Release();
  const v1::Response response = client->Receive();
  EXPECT_EQ(response.request_id(), 0U);
  EXPECT_TRUE(response.has_score());
  EXPECT_EQ(server.cluster().plans().size(), 1U);
}

TEST(Connection, AClientThatDoesNotReadDelaysNoOther) {
  FakeSocketServer server;
  const auto slow = server.Connect();
  // Replies of about 100 kB each, in total far more than the server and the two sockets would hold.
  constexpr std::uint64_t kRequests = 400;
  std::thread sender([&] {
    for (std::uint64_t number = 0; number < kRequests; ++number) {
      v1::Request request = NumberedRequest(number);
      for (int item = 0; item < 120; ++item) {
        request.mutable_score()->add_items()->set_text("");
      }
      request.mutable_score()->set_top_logprobs(50);
      slow->Send(request);
    }
  });
  const auto other = server.Connect();
  const auto is_stalled = [&] {
    const std::size_t before = server.cluster().plans().size();
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    return before > 0 && server.cluster().plans().size() == before;
  };
  EXPECT_TRUE(Eventually(is_stalled, std::chrono::seconds(120)));
  EXPECT_LT(server.cluster().plans().size(), kRequests * 3 / 4)
      << "the server stopped before the end";
  EXPECT_EQ(ScoresOf(other->Call(NumberedRequest(4)).score()),
            ScoresOf(server.ResponseTo(NumberedRequest(4)).score()));
  std::map<std::uint64_t, int> replies;
  for (std::uint64_t i = 0; i < kRequests; ++i) {
    const v1::Response response = slow->Receive();
    ASSERT_EQ(response.score().scores_size(), 121 + static_cast<int>(response.request_id() % 5));
    ++replies[response.request_id()];
  }
  EXPECT_EQ(replies.size(), kRequests) << "no reply was lost";
  sender.join();
}

// The client sends more requests than may be in flight, so the server stops reading, and it has
// nothing to write.
TEST(Connection, AClientThatLeavesWhileReadingIsPausedIsNoticed) {
  FakeSocketServer server;
  server.cluster().Hold();
  auto leaver = server.Connect();
  for (std::uint64_t number = 0; number < 300; ++number) {
    leaver->Send(NumberedRequest(number));
  }
  EXPECT_TRUE(Eventually([&] { return !server.cluster().plans().empty(); }));
  leaver.reset();
  EXPECT_TRUE(Eventually([&] { return server.server().status().connections == 0; }));
  const std::size_t before = server.cluster().plans().size();
  server.cluster().Release();
  server.scheduler().WaitIdle();
  EXPECT_LE(server.cluster().plans().size(), before + 1) << "the rest was dropped";
  EXPECT_TRUE(server.Connect()->Call(NumberedRequest(1)).has_score());
}

TEST(Connection, LongTextsDelayNoOtherClient) {
  FakeSocketServer server;
  server.tokenizer().Hold();
  std::vector<std::unique_ptr<Client>> slow;
  for (std::uint64_t number = 0; number < 4; ++number) {
    v1::Request request = NumberedRequest(number);
    request.mutable_score()->mutable_query()->set_text(std::string(100'000, 'x'));
    slow.push_back(server.Connect());
    slow.back()->Send(request);
  }
  auto leaver = server.Connect();
  v1::Request request = NumberedRequest(4);
  request.mutable_score()->add_items()->set_text(std::string(100'000, 'x'));
  leaver->Send(request);
  const auto other = server.Connect();
  EXPECT_TRUE(other->Call(NumberedRequest(5)).has_score());
  leaver.reset();
  server.tokenizer().Release();
  EXPECT_TRUE(Eventually([&] { return server.server().status().connections == 5; }));
  for (std::uint64_t number = 0; number < 4; ++number) {
    ExpectError(slow[number]->Receive(), number, 400, "sequence_too_long");
  }
}

TEST(Connection, IsClosedAfterSilenceButNotWhileItsRequestIsComputed) {
  SocketOptions options;
  options.idle_timeout = std::chrono::seconds(3);  // Longer than a busy machine stalls.
  FakeSocketServer server(options);
  server.cluster().Hold();
  const auto waiting = server.Connect();
  waiting->Send(NumberedRequest(1));
  const auto silent = server.Connect();
  EXPECT_THROW(silent->Receive(), std::runtime_error);
  const auto half = server.Connect();
  WriteBytes(*half, proto::ToFrame(NumberedRequest(2)).substr(0, 7));
  EXPECT_THROW(half->Receive(), std::runtime_error);
  server.cluster().Release();
  EXPECT_TRUE(waiting->Receive().has_score());
  EXPECT_THROW(waiting->Receive(), std::runtime_error);
}

TEST(Connection, AHalfReadMessageIsRefusedIfAllTogetherAreTooLarge) {
  SocketOptions options;
  options.max_request_bytes = 200'000;
  options.max_held_bytes = 250'000;
  FakeSocketServer server(options);
  v1::Request large = NumberedRequest(1);
  large.mutable_score()->add_labels(std::string(150'000, 'x'));
  const std::string frame = proto::ToFrame(large);
  const std::string half = frame.substr(0, 140'000);
  const std::string rest = frame.substr(140'000);
  auto one = server.Connect();
  auto other = server.Connect();
  WriteBytes(*one, half);
  WriteBytes(*other, half);
  // Which client comes too late is chance. Its connection goes on as after a bad frame.
  ASSERT_TRUE(
      Eventually([&] { return one->socket().available() > 0 || other->socket().available() > 0; }));
  if (other->socket().available() == 0) {
    std::swap(one, other);
  }
  const v1::Response refusal = other->Receive();
  ExpectError(refusal, 0, 503, "overloaded");
  EXPECT_EQ(refusal.error().retry_after_seconds(), 1);
  WriteBytes(*other, rest);
  EXPECT_TRUE(other->Call(NumberedRequest(2)).has_score());
  WriteBytes(*one, rest);
  ExpectError(one->Receive(), 1, 400, "label_not_one_token");
  EXPECT_TRUE(Eventually([&] {
    return other->Call(large).error().reason() == "label_not_one_token";
  })) << "the bytes that they held are free again";
}

/// A request whose response is long: 50 log-probabilities for each of the items and the query.
v1::Request WithLargeResponse(std::uint64_t number) {
  v1::Request request = NumberedRequest(number);
  for (int item = 0; item < 120; ++item) {
    request.mutable_score()->add_items()->set_text("");
  }
  request.mutable_score()->set_top_logprobs(50);
  return request;
}

TEST(Connection, ALargeResponseIsRefusedIfAllTogetherAreTooLarge) {
  SocketOptions options;
  options.max_held_bytes = 150'000;  // Room for one response, not for two.
  FakeSocketServer server(options);
  server.cluster().Hold();
  const auto one = server.Connect();
  one->Send(WithLargeResponse(1));
  ASSERT_TRUE(Eventually([&] { return !server.cluster().plans().empty(); }));
  const auto other = server.Connect();
  const v1::Response refusal = other->Call(WithLargeResponse(2));
  ExpectError(refusal, 2, 503, "overloaded");
  EXPECT_EQ(refusal.error().retry_after_seconds(), 1);
  server.cluster().Release();
  EXPECT_TRUE(other->Call(NumberedRequest(3)).has_score()) << "a small response";
  EXPECT_TRUE(one->Receive().has_score());
  EXPECT_TRUE(Eventually([&] { return other->Call(WithLargeResponse(4)).has_score(); }));
}

TEST(Connection, AResponseThatIsTooLargeByItselfIsRefused) {
  SocketOptions options;
  options.max_held_bytes = 100'000;
  FakeSocketServer server(options);
  const auto client = server.Connect();
  ExpectError(client->Call(WithLargeResponse(1)), 1, 413, "answer_too_large");
  EXPECT_TRUE(client->Call(NumberedRequest(2)).has_score());
}

}  // namespace connection_test
}  // namespace scorecast::coordinator

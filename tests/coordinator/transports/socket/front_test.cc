// What a server tells of itself, and fronts: clients that are trusted to pass on others' requests.

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/schedule/queue/scheduler_status.h"
#include "coordinator/transports/connection/listening_socket.h"
#include "coordinator/transports/socket/frame_protocol.h"
#include "proto/wire/frame.h"
#include "tests/coordinator/access/keys_file.h"
#include "tests/coordinator/transports/ended_clients.h"
#include "tests/coordinator/transports/socket/connection_checks.h"
#include "tests/coordinator/transports/socket/fake_socket_server.h"

namespace scorecast::coordinator {
namespace front_test {

using launcher::Client;
using ::testing::ElementsAre;

constexpr char kFrontKey[] = "sk-front-0123456789";
constexpr std::uint64_t kHelloId = 99;

v1::Request Hello(const std::string& front_key = {}) {
  v1::Request request;
  request.set_request_id(kHelloId);
  request.mutable_hello()->set_front_key(front_key);
  return request;
}

/// A request of a client of the front.
v1::Request For(const std::string& client, v1::Request request) {
  request.mutable_forwarded()->set_client(client);
  return request;
}

/// The same for the holder of a key.
v1::Request ForHolder(const std::string& name, v1::Request request) {
  request.mutable_forwarded()->mutable_key();
  return For(name, std::move(request));
}

v1::Request WithText(std::uint64_t number, std::size_t bytes) {
  v1::Request request = NumberedRequest(number);
  request.mutable_score()->mutable_query()->set_text(std::string(bytes, 'x'));
  return request;
}

class Front : public ::testing::Test {
 protected:
  explicit Front(const SchedulerOptions& scheduler = {})
      : server_(OptionsWith(client_keys_.Read(), front_keys_), scheduler, &ended_) {}

  static SocketOptions OptionsWith(std::shared_ptr<ApiKeys> keys,
                                   std::shared_ptr<ApiKeys> front_keys) {
    SocketOptions options;
    options.keys = std::move(keys);
    options.front_keys = std::move(front_keys);
    return options;
  }

  std::unique_ptr<Client> ConnectFront() const {
    auto client = server_.Connect();
    EXPECT_TRUE(client->Call(Hello(kFrontKey)).hello().trusted());
    return client;
  }

  const KeysFile client_keys_{KeysFile::Alice()};
  const KeysFile file_{std::string("front ") + kFrontKey + "\n"};
  const std::shared_ptr<ApiKeys> front_keys_ = file_.Read();
  EndedClients ended_;
  FakeSocketServer server_;
};

TEST(Hello, TellsWhatTheServerIs) {
  FakeServer fake;
  SocketOptions options;
  options.max_request_bytes = 12'345;
  RequestServer server(fake.service, options, 2);
  const std::uint16_t port =
      server.Listen(OpenListeningSocket("127.0.0.1", 0),
                    MakeFrameProtocol(fake.service.endpoints(), {.version = "1.2",
                                                                 .model = "m",
                                                                 .kind = "a language model",
                                                                 .fingerprint = "0123",
                                                                 .dtype = "bf16",
                                                                 .kernel_set = "avx512",
                                                                 .max_values = 77}));
  Client client("127.0.0.1:" + std::to_string(port));
  const v1::Response response = client.Call(Hello());
  EXPECT_EQ(response.request_id(), kHelloId);
  const v1::HelloReply& hello = response.hello();
  EXPECT_EQ(hello.version(), "1.2");
  EXPECT_EQ(hello.model(), "m");
  EXPECT_EQ(hello.kind(), "a language model");
  EXPECT_EQ(hello.fingerprint(), "0123");
  EXPECT_EQ(hello.dtype(), "bf16");
  EXPECT_EQ(hello.kernel_set(), "avx512");
  EXPECT_FALSE(hello.trusted());
  EXPECT_EQ(hello.max_request_bytes(), 12'345);
  EXPECT_EQ(hello.max_requests_in_flight(), 256);
  EXPECT_EQ(hello.max_values(), 77);
  ExpectError(client.Call(Hello(kFrontKey)), kHelloId, 401, "unauthorized");
  EXPECT_TRUE(client.Call(NumberedRequest(1)).has_score()) << "it is a client as before";
}

TEST_F(Front, OnlyClientsThatAreLetInAreTold) {
  const auto client = server_.Connect();
  ExpectError(client->Call(Hello()), kHelloId, 401, "unauthorized");
  v1::Request authenticate;
  authenticate.mutable_authenticate()->set_api_key(kAlice);
  EXPECT_TRUE(client->Call(authenticate).has_authenticated());
  EXPECT_TRUE(client->Call(Hello()).has_hello());
}

TEST_F(Front, HasAKeyOfItsOwn) {
  const auto client = server_.Connect();
  for (const std::string wrong : {"wrong", kAlice}) {
    ExpectError(client->Call(Hello(wrong)), kHelloId, 401, "unauthorized");
    ExpectError(client->Call(NumberedRequest(1)), 1, 401, "unauthorized");
  }
  const v1::Response response = client->Call(Hello(kFrontKey));
  EXPECT_TRUE(response.hello().trusted());
  EXPECT_EQ(response.hello().max_requests_in_flight(), 65'536);
  EXPECT_TRUE(client->Call(NumberedRequest(1)).has_score()) << "it needs no other key";
  EXPECT_EQ(client->Call(WithText(2, 6'000)).error().code(), 400) << "a text that is too long";
}

TEST_F(Front, NobodyElseForwards) {
  const auto client = server_.Connect();
  v1::Request authenticate;
  authenticate.mutable_authenticate()->set_api_key(kAlice);
  EXPECT_TRUE(client->Call(authenticate).has_authenticated());
  const v1::Response response = client->Call(For("192.0.2.7", NumberedRequest(5)));
  ExpectError(response, 5, 403, "not_a_front");
  EXPECT_EQ(response.error().param(), "forwarded");
  EXPECT_THAT(ended_.Take(), ElementsAre("alice 403"));
  EXPECT_TRUE(client->Call(NumberedRequest(6)).has_score());
}

TEST_F(Front, ItsRequestsAreThoseOfItsClients) {
  const auto front = ConnectFront();
  EXPECT_TRUE(front->Call(For("192.0.2.7", NumberedRequest(1))).has_score());
  EXPECT_TRUE(front->Call(ForHolder("bob", NumberedRequest(2))).has_score());
  EXPECT_TRUE(front->Call(NumberedRequest(3)).has_score());
  EXPECT_THAT(ended_.Take(), ElementsAre("192.0.2.7 200", "bob 200", "127.0.0.1 200"));
}

TEST_F(Front, FaultsOfWhatItForwardsNameTheField) {
  const auto front = ConnectFront();
  const auto expect_fault = [&](const v1::Forwarded& forwarded, const std::string& field) {
    v1::Request request = NumberedRequest(1);
    *request.mutable_forwarded() = forwarded;
    const v1::Response response = front->Call(request);
    ExpectError(response, 1, 400, "bad_forwarded");
    EXPECT_EQ(response.error().param(), field);
  };
  v1::Forwarded good;
  good.set_client("192.0.2.7");
  v1::Forwarded forwarded;
  expect_fault(forwarded, "forwarded.client");
  for (const std::string& name : {std::string("two words"), std::string("a\nb"),
                                  std::string(257, 'a'), std::string(5'000, 'a')}) {
    forwarded.set_client(name);
    expect_fault(forwarded, "forwarded.client");
  }
  forwarded = good;
  forwarded.set_network("a b");
  expect_fault(forwarded, "forwarded.network");
  forwarded = good;
  for (const std::int64_t waited_us :
       {std::int64_t{-1}, std::int64_t{86'400'000'001}, std::numeric_limits<std::int64_t>::max()}) {
    forwarded.set_waited_us(waited_us);
    expect_fault(forwarded, "forwarded.waited_us");
  }
  forwarded = good;
  forwarded.set_timeout_us(-1);
  expect_fault(forwarded, "forwarded.timeout_us");
  forwarded = good;
  forwarded.set_response_id(1);
  expect_fault(forwarded, "forwarded.created");
  forwarded = good;
  forwarded.set_created(1);
  expect_fault(forwarded, "forwarded.created");
  forwarded = good;
  forwarded.mutable_key()->set_priority(11);
  expect_fault(forwarded, "forwarded.key.priority");
  forwarded = good;
  forwarded.mutable_key()->set_waiting_tokens(0);
  expect_fault(forwarded, "forwarded.key.waiting_tokens");
  EXPECT_TRUE(front->Call(For("192.0.2.7", NumberedRequest(2))).has_score());
}

TEST_F(Front, WhatItForwardsIsReadInBoundedTime) {
  const auto front = ConnectFront();
  // A group of fields that no message has: the tags of its begin and its end.
  const std::string group = "\x9b\x06\x9c\x06";
  const v1::Request forwarded = For("192.0.2.7", v1::Request());
  std::string frame = proto::ToFrame(NumberedRequest(1));
  for (const std::string& bytes : {group, forwarded.SerializeAsString()}) {
    frame += bytes;
    frame[proto::kFrameHeaderBytes - 1] =
        static_cast<char>(frame.size() - proto::kFrameHeaderBytes);
  }
  ASSERT_LT(frame.size(), 256U);
  WriteBytes(*front, frame);
  ExpectError(front->Receive(), 0, 400, "not_a_message");
  EXPECT_TRUE(front->Call(For("192.0.2.7", NumberedRequest(2))).has_score());
}

TEST_F(Front, MayHaveManyRequestsInFlight) {
  server_.cluster().Hold();
  const auto front = ConnectFront();
  constexpr std::int64_t kRequests = 1'000;
  for (std::uint64_t number = 0; number < kRequests; ++number) {
    front->Send(For("192.0.2." + std::to_string(number % 200), NumberedRequest(number)));
  }
  EXPECT_TRUE(
      Eventually([&] { return server_.server().status().requests_in_flight == kRequests; }));
  server_.cluster().Release();
  std::map<std::uint64_t, int> replies;
  for (std::int64_t i = 0; i < kRequests; ++i) {
    const v1::Response response = front->Receive();
    EXPECT_TRUE(response.has_score()) << response.error().message();
    ++replies[response.request_id()];
  }
  EXPECT_EQ(replies.size(), std::size_t{kRequests});
}

TEST_F(Front, ALongTextDelaysNoOtherClientOfIt) {
  const auto front = ConnectFront();
  server_.tokenizer().Hold();
  front->Send(For("192.0.2.1", WithText(1, 50'000)));
  front->Send(For("192.0.2.2", WithText(2, 200'000)));
  EXPECT_TRUE(front->Call(For("192.0.2.3", NumberedRequest(3))).has_score());
  v1::Request cancel;
  cancel.mutable_cancel()->set_request_id(2);
  front->Send(cancel);
  ExpectError(front->Receive(), 2, 499, "cancelled");
  EXPECT_EQ(front->Receive().cancelled().requests(), 1U);
  server_.tokenizer().Release();
  ExpectError(front->Receive(), 1, 400, "sequence_too_long");
  EXPECT_TRUE(Eventually([&] { return server_.server().status().held_request_bytes == 0; }));
}

TEST_F(Front, TheTimeAtTheFrontCounts) {
  const auto front = ConnectFront();
  v1::Request request = For("192.0.2.7", NumberedRequest(1));
  request.mutable_score()->set_timeout_ms(600'000);
  request.mutable_forwarded()->set_waited_us(500'000'000);
  v1::Response response = front->Call(request);
  ASSERT_TRUE(response.has_score()) << response.error().message();
  EXPECT_GE(response.score().timings().total_ms(), 500'000);
  request.mutable_forwarded()->set_waited_us(600'000'000);
  ExpectError(front->Call(request), 1, 504, "deadline_passed");
}

TEST_F(Front, WhatIsLeftOfTheTimeCounts) {
  const auto front = ConnectFront();
  v1::Request request = For("192.0.2.7", NumberedRequest(1));
  request.mutable_forwarded()->set_waited_us(500'000'000);
  request.mutable_forwarded()->set_timeout_us(600'000'000);
  EXPECT_TRUE(front->Call(request).has_score()) << "it counts from its arrival here";
  request.mutable_forwarded()->set_timeout_us(std::numeric_limits<std::int64_t>::max());
  EXPECT_TRUE(front->Call(request).has_score());
  request.mutable_forwarded()->set_timeout_us(600'000'000);
  request.mutable_score()->set_timeout_ms(1'000);
  ExpectError(front->Call(request), 1, 504, "deadline_passed");
  request.mutable_score()->clear_timeout_ms();
  request.mutable_forwarded()->set_timeout_us(0);
  ExpectError(front->Call(request), 1, 504, "deadline_passed");
}

TEST_F(Front, WhatARequestDoesNotSayIsWhatTheFrontSays) {
  const auto front = ConnectFront();
  v1::Request request = For("192.0.2.7", v1::Request());
  request.set_request_id(1);
  v1::CompletionsRequest& completions = *request.mutable_completions();
  completions.add_prompt()->mutable_ids()->add_ids(5);
  completions.set_temperature(1.5);
  completions.set_max_tokens(2);
  v1::Forwarded& forwarded = *request.mutable_forwarded();
  forwarded.set_default_seed(1234);
  forwarded.set_response_id(std::numeric_limits<std::uint64_t>::max());
  forwarded.set_created(56);
  const v1::CompletionsResponse first = front->Call(request).completions();
  EXPECT_EQ(first.seed(), 1234);
  EXPECT_EQ(first.created(), 56);
  const v1::CompletionsResponse again = front->Call(request).completions();
  EXPECT_EQ(again.id(), first.id());
  forwarded.set_response_id(7);
  EXPECT_NE(front->Call(request).completions().id(), first.id());
  completions.set_seed(5);
  EXPECT_EQ(front->Call(request).completions().seed(), 5) << "that of the request counts";
}

TEST_F(Front, TheLimitsOfAKeyAreThoseOfItsHolder) {
  server_.cluster().Hold();
  const auto front = ConnectFront();
  front->Send(For("192.0.2.7", NumberedRequest(1)));
  ASSERT_TRUE(Eventually([&] { return !server_.cluster().plans().empty(); }));
  v1::Request request = ForHolder("alice", NumberedRequest(2));
  request.mutable_forwarded()->mutable_key()->set_waiting_tokens(1);
  front->Send(request);
  ASSERT_TRUE(Eventually([&] { return server_.scheduler().status().waiting_jobs == 1; }));
  request.set_request_id(3);
  ExpectError(front->Call(request), 3, 429, "client_queue_full");
  request.mutable_forwarded()->set_client("bob");
  front->Send(request);
  EXPECT_TRUE(Eventually([&] { return server_.scheduler().status().waiting_jobs == 2; }));
}

TEST_F(Front, ARevokedKeyIsRefusedOnAnOpenConnection) {
  const auto front = ConnectFront();
  EXPECT_TRUE(front->Call(For("192.0.2.7", NumberedRequest(1))).has_score());
  file_.Write("second sk-second-0123456789\n");
  EXPECT_TRUE(front_keys_->Reload());
  ExpectError(front->Call(For("192.0.2.7", NumberedRequest(2))), 2, 401, "unauthorized");
  ExpectError(front->Call(Hello(kFrontKey)), kHelloId, 401, "unauthorized");
  ExpectError(front->Call(Hello()), kHelloId, 401, "unauthorized");
  ExpectError(front->Call(WithText(2, 6'000)), 2, 401, "unauthorized");
  EXPECT_TRUE(front->Call(Hello("sk-second-0123456789")).hello().trusted());
  EXPECT_TRUE(front->Call(For("192.0.2.7", NumberedRequest(3))).has_score());
}

TEST_F(Front, IsToldWhichMessageHasAFault) {
  const auto front = ConnectFront();
  const v1::Request beginning = For("192.0.2.7", v1::Request());
  std::string frame = proto::ToFrame(beginning);
  // Its id, and an HTTP request of one byte: the tag of a group that does not end.
  frame += std::string("\x08\x07\x4a\x01\x0b");
  frame[proto::kFrameHeaderBytes - 1] = static_cast<char>(frame.size() - proto::kFrameHeaderBytes);
  WriteBytes(*front, frame);
  ExpectError(front->Receive(), 7, 400, "not_a_message");
  EXPECT_TRUE(front->Call(For("192.0.2.7", NumberedRequest(2))).has_score());
}

TEST_F(Front, RepliesCountForWhomTheyAre) {
  const auto large = [](const std::string& name, std::uint64_t number) {
    v1::Request request;
    request.set_request_id(number);
    v1::ChunkedRequest& chunked = *request.mutable_chunked();
    chunked.add_chunks()->mutable_ids()->add_ids(100);
    for (int i = 0; i < 15; ++i) {
      chunked.add_questions()->mutable_ids()->add_ids('a');
    }
    chunked.set_max_new_tokens(500);
    return For(name, std::move(request));
  };
  // A reply that is larger has room if it is alone.
  SocketOptions options = OptionsWith(nullptr, front_keys_);
  options.max_held_bytes_per_address = 1;
  FakeSocketServer server(options);
  server.cluster().Hold();
  const auto front = server.Connect();
  EXPECT_TRUE(front->Call(Hello(kFrontKey)).hello().trusted());
  front->Send(large("192.0.2.7", 1));
  ASSERT_TRUE(Eventually([&] { return !server.cluster().plans().empty(); }));
  ExpectError(front->Call(large("192.0.2.7", 2)), 2, 503, "overloaded");
  front->Send(large("192.0.2.8", 3));
  ASSERT_TRUE(Eventually([&] { return server.scheduler().status().waiting_jobs == 1; }));
  v1::Request cancel;
  for (const std::uint64_t number : {1, 3}) {
    cancel.mutable_cancel()->set_request_id(number);
    front->Send(cancel);
    ExpectError(front->Receive(), number, 499, "cancelled");
    EXPECT_EQ(front->Receive().cancelled().requests(), 1U);
  }
}

TEST_F(Front, AMessageAboutTheConnectionIsNotPassedOn) {
  server_.cluster().Hold();
  const auto front = ConnectFront();
  front->Send(For("192.0.2.7", NumberedRequest(1)));
  ASSERT_TRUE(Eventually([&] { return !server_.cluster().plans().empty(); }));
  v1::Request cancel = For("192.0.2.8", v1::Request());
  cancel.set_request_id(2);
  v1::Request authenticate = cancel;
  v1::Request hello = cancel;
  cancel.mutable_cancel()->set_request_id(1);
  authenticate.mutable_authenticate()->set_api_key("wrong");
  hello.mutable_hello()->set_status_interval_ms(10);
  for (const v1::Request& request : {cancel, authenticate, hello}) {
    ExpectError(front->Call(request), 2, 400, "unknown_endpoint");
  }
  server_.cluster().Release();
  const v1::Response response = front->Receive();
  EXPECT_EQ(response.request_id(), 1U);
  EXPECT_TRUE(response.has_score()) << response.error().message();
}

TEST(FrontWithoutRoom, IsToldWhichRequestIsRefusedWhileItIsRead) {
  const KeysFile file{std::string("front ") + kFrontKey + "\n"};
  FakeSocketServer server(
      {.max_request_bytes = 100'000, .max_held_bytes = 100'000, .front_keys = file.Read()});
  const auto front = server.Connect();
  EXPECT_TRUE(front->Call(Hello(kFrontKey)).hello().trusted());
  server.tokenizer().Hold();
  front->Send(For("192.0.2.7", WithText(1, 90'000)));
  // Each byte may become a token.
  ASSERT_TRUE(Eventually([&] { return server.server().status().held_request_bytes > 400'000; }));
  ExpectError(front->Call(For("192.0.2.8", WithText(2, 80'000))), 2, 503, "overloaded");
  ExpectError(front->Call(For("192.0.2.8", WithText(3, 300'000))), 3, 413, "request_too_large");
  EXPECT_TRUE(front->Call(For("192.0.2.8", NumberedRequest(4))).has_score());
  const auto client = server.Connect();
  ExpectError(client->Call(WithText(5, 80'000)), 0, 503, "overloaded");
  server.tokenizer().Release();
  ExpectError(front->Receive(), 1, 400, "sequence_too_long");
  EXPECT_TRUE(Eventually([&] { return server.server().status().held_request_bytes == 0; }));
  ExpectError(front->Call(For("192.0.2.8", WithText(6, 80'000))), 6, 400, "sequence_too_long");
}

/// With a cache.
class CachingFront : public Front {
 protected:
  CachingFront() : Front({.cached_pages = 60}) {}

  std::int64_t CachedTokens(Client& front, const std::string& name, bool shares_cache) {
    v1::Request request = ForHolder(name, WithText(1, 200));
    request.mutable_forwarded()->mutable_key()->set_shares_cache(shares_cache);
    return TokensOf(front, request);
  }
  /// The cached tokens of a request whose client has no key.
  std::int64_t CachedTokensWithSalt(Client& front, const std::string& salt) {
    v1::Request request = For("192.0.2.7", WithText(1, 200));
    request.mutable_score()->set_cache_salt(salt);
    return TokensOf(front, request);
  }

 private:
  static std::int64_t TokensOf(Client& front, const v1::Request& request) {
    const v1::Response response = front.Call(request);
    EXPECT_TRUE(response.has_score()) << response.error().message();
    return response.score().usage().cached_tokens();
  }
};

TEST_F(CachingFront, HoldersShareTheCacheOnlyIfTheirKeysSaySo) {
  const auto front = ConnectFront();
  EXPECT_EQ(CachedTokens(*front, "alice", false), 0);
  EXPECT_GT(CachedTokens(*front, "alice", false), 0);
  EXPECT_EQ(CachedTokens(*front, "bob", false), 0);
  EXPECT_EQ(CachedTokens(*front, "carol", true), 0);
  EXPECT_GT(CachedTokens(*front, "dan", true), 0);
}

TEST_F(CachingFront, AClientWithoutAKeyFindsNoHoldersPagesByItsSalt) {
  const auto front = ConnectFront();
  EXPECT_EQ(CachedTokens(*front, "alice", false), 0);
  EXPECT_EQ(CachedTokensWithSalt(*front, "key alice "), 0);
  EXPECT_GT(CachedTokensWithSalt(*front, "key alice "), 0) << "it has pages of its own";
  EXPECT_EQ(CachedTokens(*front, "carol", true), 0);
  EXPECT_GT(CachedTokensWithSalt(*front, ""), 0) << "carol shares hers with all who share theirs";
  EXPECT_EQ(CachedTokensWithSalt(*front, "other"), 0);
}

}  // namespace front_test
}  // namespace scorecast::coordinator

// The deltas of a call that streams, on their way to the client.

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/transports/connection/connection.h"
#include "coordinator/transports/connection/connection_call.h"
#include "coordinator/transports/connection/request_handler.h"
#include "coordinator/transports/socket/frame_format.h"
#include "proto/scorecast.pb.h"
#include "proto/wire/frame.h"
#include "tests/coordinator/endpoints/fake_server.h"
#include "tests/coordinator/transports/connection/fake_stream.h"

namespace scorecast::coordinator {
namespace delta_stream_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<v1::Response> ResponsesIn(const std::string& frames) {
  std::vector<v1::Response> responses;
  std::size_t at = 0;
  while (at < frames.size()) {
    proto::FrameHeader header{};
    frames.copy(reinterpret_cast<char*>(header.data()), header.size(), at);
    at += header.size();
    const std::size_t length = proto::FrameLength(header);
    EXPECT_TRUE(responses.emplace_back().ParseFromString(frames.substr(at, length)));
    at += length;
  }
  return responses;
}

/// Reads nothing.
class SilentProtocol : public Protocol {
 public:
  void ReadRequest(std::shared_ptr<Connection>) override {}
  Reply ErrorReply(const proto::Error& error, HeldBytes& replies) const override {
    return ToReply(error.message, replies);
  }
  std::size_t max_in_flight() const override { return 1; }
};

/// The message of a request that streams.
std::string StreamMessage() {
  v1::Request request;
  request.set_request_id(7);
  request.mutable_chunked()->set_prompt("p");
  request.mutable_chunked()->set_max_new_tokens(200);
  request.mutable_chunked()->set_stream(true);
  return request.SerializeAsString();
}

/// A call that streams, whose client reads when the test tells it to. The ranks are stuck, so that
/// all deltas are the test's.
class DeltaStreamTest : public ::testing::Test {
 protected:
  DeltaStreamTest() {
    fake_.cluster.Hold();
    auto stream = std::make_unique<FakeStream>(io_);
    stream_ = stream.get();
    connection_ = std::make_shared<Connection>(ClientId{}, std::move(stream),
                                               std::make_unique<SilentProtocol>(), context_,
                                               address_, [](std::uint64_t) {});
    connection_->BeginReading();
    call_ = connection_->BeginRequest(std::make_unique<FrameFormat>(
        StreamMessage(), RequestEnvelope(), std::vector<Held>(), /*state=*/nullptr));
    handler_.Handle(call_, /*fault=*/std::nullopt);
    Run();
    EXPECT_FALSE(call_->is_over());
    EXPECT_THAT(fake_.cluster.plans(), SizeIs(1)) << "its job is computed";
    room_ = handler_.replies().bytes();
  }

  ~DeltaStreamTest() override {
    connection_->Close();
    Run();
    EXPECT_EQ(connection_.use_count(), 1) << "nothing refers to it any more";
    EXPECT_GT(call_.use_count(), 1) << "but the stuck job to its call";
    fake_.cluster.Release();
    fake_.scheduler.WaitIdle();
    handler_.Finish();
  }

  void Add(std::size_t question, const std::string& text, TokenId token,
           std::optional<FinishReason> reason = std::nullopt) {
    call_->Delta(question, {text, {token}, reason});
  }
  /// Ends the call with an error.
  void End() { fake_.service.RefuseAll(); }

  void Run() {
    io_.restart();
    io_.poll();
  }

  /// The client reads what is being written.
  std::vector<v1::Response> Read() {
    std::vector<v1::Response> responses = ResponsesIn(stream_->Take());
    for (const v1::Response& response : responses) {
      EXPECT_EQ(response.request_id(), 7U);
    }
    return responses;
  }

  /// Bytes of replies that the client has not read.
  std::int64_t Unread() { return handler_.replies().bytes() - room_; }

  boost::asio::io_context io_;
  FakeServer fake_;
  RequestHandler handler_{fake_.service, {.max_held_bytes = 1 << 20}, /*threads=*/1};
  const std::shared_ptr<AddressBytes> address_ = std::make_shared<AddressBytes>(
      AddressBytes{HeldBytes(1 << 20), HeldBytes(1 << 20, &handler_.replies())});
  MemoryReturn memory_{io_.get_executor()};
  const ConnectionContext context_{
      std::chrono::seconds(60),
      std::chrono::seconds(60),
      std::chrono::seconds(60),
      handler_.counters(),
      memory_,
      [this](const std::vector<std::shared_ptr<Call>>& left) { fake_.service.Cancel(left); },
      [](Clock::duration) {},
      [](const ClientId&, const Holder&, const proto::Error&) {}};
  FakeStream* stream_ = nullptr;
  std::shared_ptr<Connection> connection_;
  std::shared_ptr<ConnectionCall> call_;
  std::int64_t room_ = 0;  ///< Bytes that are held for the response.
};

TEST_F(DeltaStreamTest, EveryTokenHasAFrameIfTheClientReads) {
  for (const TokenId token : {1, 2, 3}) {
    Add(0, std::string(1, static_cast<char>('a' + token)), token);
    EXPECT_FALSE(stream_->is_writing()) << "nothing is formed on the thread that adds";
    Run();
    const auto responses = Read();
    ASSERT_THAT(responses, SizeIs(1));
    EXPECT_EQ(responses[0].chunked_delta().question(), 0U);
    EXPECT_THAT(responses[0].chunked_delta().token_ids(), ElementsAre(token));
    EXPECT_EQ(responses[0].chunked_delta().finish_reason(), "");
    Run();
  }
  EXPECT_EQ(Unread(), 0);
}

TEST_F(DeltaStreamTest, WaitingDeltasAreMergedIntoOneForEachQuestion) {
  Add(1, "a", 1);
  Run();
  ASSERT_TRUE(stream_->is_writing());
  const std::int64_t first = Unread();
  EXPECT_GT(first, 0);
  for (TokenId token = 2; token < 100; ++token) {
    Add(token % 2, "x", token);
    Run();
    EXPECT_EQ(Unread(), first) << "the first is not read yet";
  }
  Add(1, "", 100, FinishReason::kStop);
  const std::string frame = stream_->Take();
  EXPECT_EQ(static_cast<std::int64_t>(frame.size()), first);
  EXPECT_THAT(ResponsesIn(frame), SizeIs(1));
  Run();
  const auto responses = Read();
  ASSERT_THAT(responses, SizeIs(2));
  EXPECT_EQ(responses[0].chunked_delta().question(), 0U);
  EXPECT_EQ(responses[0].chunked_delta().text(), std::string(49, 'x'));
  EXPECT_EQ(responses[0].chunked_delta().finish_reason(), "");
  EXPECT_EQ(responses[1].chunked_delta().question(), 1U);
  EXPECT_EQ(responses[1].chunked_delta().token_ids_size(), 50);
  EXPECT_EQ(responses[1].chunked_delta().token_ids(0), 3);
  EXPECT_EQ(responses[1].chunked_delta().token_ids(49), 100);
  EXPECT_EQ(responses[1].chunked_delta().finish_reason(), "stop");
}

TEST_F(DeltaStreamTest, TheResponseComesAfterAllDeltas) {
  Add(0, "a", 1);
  Run();
  Add(0, "b", 2, FinishReason::kLength);
  const std::int64_t first = Unread();
  End();
  room_ = 0;
  Run();
  EXPECT_EQ(Unread(), first) << "the first delta is not read yet";
  EXPECT_THAT(handler_.counters().refusals(), IsEmpty()) << "so the error is not formed yet";
  EXPECT_THAT(Read(), SizeIs(1));
  Run();
  EXPECT_THAT(handler_.counters().refusals(), SizeIs(1)) << "the last delta was sent";
  const auto responses = Read();
  ASSERT_THAT(responses, SizeIs(1));
  EXPECT_EQ(responses[0].chunked_delta().text(), "b");
  Run();
  const auto response = Read();
  ASSERT_THAT(response, SizeIs(1));
  EXPECT_EQ(response[0].error().reason(), "draining");
  Run();
  EXPECT_FALSE(stream_->is_writing()) << "once";
}

TEST_F(DeltaStreamTest, AResponseWithoutDeltasComesAtOnce) {
  End();
  EXPECT_FALSE(stream_->is_writing());
  Run();
  const auto response = Read();
  ASSERT_THAT(response, SizeIs(1));
  EXPECT_EQ(response[0].error().reason(), "draining");
}

TEST(Reply, HasOnlyTheRoomThatCounts) {
  HeldBytes replies(1 << 20);
  std::string bytes;
  for (int i = 0; i < 1025; ++i) {
    bytes += 'x';  // Grows by doubling.
  }
  const Reply reply = ToReply(std::move(bytes), replies);
  EXPECT_EQ(reply.bytes, std::string(1025, 'x'));
  EXPECT_EQ(replies.bytes(), 1025);
  EXPECT_LT(reply.bytes.capacity(), 1100U);
}

TEST_F(DeltaStreamTest, NothingIsFormedForAClientThatLeft) {
  Add(0, "a", 1);
  connection_->CloseNow();
  EXPECT_TRUE(call_->is_over());
  Run();
  EXPECT_THAT(handler_.counters().refusals(), IsEmpty());
  EXPECT_FALSE(stream_->is_writing());
  EXPECT_EQ(handler_.replies().bytes(), 0);
}

}  // namespace delta_stream_test
}  // namespace scorecast::coordinator

#include "coordinator/transports/connection/delta_stream.h"

#include <string>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/endpoints/chunked/chunked_endpoint.h"
#include "coordinator/transports/socket/frame_format.h"
#include "proto/scorecast.pb.h"
#include "proto/wire/frame.h"

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

/// A stream whose client reads when the test tells it to.
class DeltaStreamTest : public ::testing::Test {
 protected:
  void Add(std::size_t question, const std::string& text, TokenId token,
           std::optional<FinishReason> reason = std::nullopt) {
    stream_->Add(question, {text, {token}, reason});
  }

  void Run() {
    io_.run();
    io_.restart();
  }

  /// Takes the replies since the last call, as if they were in the client's socket.
  std::vector<v1::Response> Read() {
    std::vector<v1::Response> responses;
    for (Reply& reply : std::exchange(replies_, {})) {
      EXPECT_FALSE(reply.is_last);
      for (v1::Response& response : ResponsesIn(reply.bytes)) {
        EXPECT_EQ(response.request_id(), 7U);
        responses.push_back(std::move(response));
      }
      reply.held.reset();
      reply.written();
    }
    return responses;
  }

  boost::asio::io_context io_;
  HeldBytes replies_held_{1 << 20};
  const std::shared_ptr<PendingRequest> pending_ =
      std::make_shared<PendingRequest>(replies_held_, ClientId{}, Clock::now());
  std::vector<Reply> replies_;
  const std::shared_ptr<DeltaStream> stream_ = std::make_shared<DeltaStream>(
      std::make_shared<FrameFormat>(7, &ChunkedEndpoint()), pending_, io_.get_executor(),
      [this](Reply reply) { replies_.push_back(std::move(reply)); });
};

TEST_F(DeltaStreamTest, EveryTokenHasAFrameIfTheClientReads) {
  for (const TokenId token : {1, 2, 3}) {
    Add(0, std::string(1, static_cast<char>('a' + token)), token);
    EXPECT_THAT(replies_, IsEmpty()) << "nothing is formed on the thread that adds";
    Run();
    const auto responses = Read();
    ASSERT_THAT(responses, SizeIs(1));
    EXPECT_EQ(responses[0].chunked_delta().question(), 0U);
    EXPECT_THAT(responses[0].chunked_delta().token_ids(), ElementsAre(token));
    EXPECT_EQ(responses[0].chunked_delta().finish_reason(), "");
    Run();
  }
  EXPECT_EQ(replies_held_.bytes(), 0);
}

TEST_F(DeltaStreamTest, WaitingDeltasAreMergedIntoOneForEachQuestion) {
  Add(1, "a", 1);
  Run();
  ASSERT_THAT(replies_, SizeIs(1));
  EXPECT_EQ(replies_held_.bytes(), static_cast<std::int64_t>(replies_[0].bytes.size()));
  for (TokenId token = 2; token < 100; ++token) {
    Add(token % 2, "x", token);
    Run();
    EXPECT_THAT(replies_, SizeIs(1)) << "the first is not read yet";
  }
  Add(1, "", 100, FinishReason::kStop);
  EXPECT_THAT(Read(), SizeIs(1));
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
  std::vector<std::string> order;
  Add(0, "a", 1);
  Run();
  Add(0, "b", 2, FinishReason::kLength);
  stream_->Finish([&] {
    EXPECT_THAT(replies_, SizeIs(1)) << "the last delta was sent";
    order.emplace_back("response");
  });
  Run();
  EXPECT_THAT(order, IsEmpty()) << "the first delta is not read yet";
  EXPECT_THAT(Read(), SizeIs(1));
  Run();
  EXPECT_THAT(order, ElementsAre("response"));
  const auto responses = Read();
  ASSERT_THAT(responses, SizeIs(1));
  EXPECT_EQ(responses[0].chunked_delta().text(), "b");
  Run();
  EXPECT_THAT(order, ElementsAre("response")) << "once";
}

TEST_F(DeltaStreamTest, AResponseWithoutDeltasComesAtOnce) {
  bool responded = false;
  stream_->Finish([&] { responded = true; });
  EXPECT_FALSE(responded);
  Run();
  EXPECT_TRUE(responded);
}

TEST_F(DeltaStreamTest, NothingIsFormedForAClientThatLeft) {
  Add(0, "a", 1);
  pending_->Leave();
  stream_->Finish([] { FAIL() << "the client has left"; });
  Run();
  EXPECT_THAT(replies_, IsEmpty());
}

}  // namespace delta_stream_test
}  // namespace scorecast::coordinator

// Completions that are streamed through a connection.

#include <map>
#include <memory>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/prompts/sequence_layout.h"
#include "tests/coordinator/endpoints/greedy_completion.h"
#include "tests/coordinator/transports/socket/fake_socket_server.h"

namespace scorecast::coordinator {
namespace chunked_stream_test {

using Ids = std::vector<TokenId>;

v1::Request StreamingRequest(std::uint64_t number, std::int64_t max_new_tokens) {
  v1::Request request;
  request.set_request_id(number);
  v1::ChunkedRequest& chunked = *request.mutable_chunked();
  chunked.add_chunks()->mutable_ids()->add_ids(static_cast<TokenId>(100 + number));
  chunked.add_questions()->mutable_ids()->add_ids('a');
  chunked.add_questions()->mutable_ids()->add_ids('b');
  chunked.set_max_new_tokens(max_new_tokens);
  chunked.set_stream(true);
  return request;
}

Ids Greedy(std::uint64_t number, TokenId question, std::size_t n) {
  return GreedyCompletion(PackChunks({}, {{{static_cast<TokenId>(100 + number)}}}, {{question}},
                                     ChunkPositionStrategy::kShared),
                          n, FakeServer::kVocabSize);
}

/// The parts of a request's completions that have arrived so far.
struct Received {
  std::map<std::uint32_t, v1::ChunkedOutput> outputs;

  void Add(const v1::ChunkedDelta& delta) {
    v1::ChunkedOutput& output = outputs[delta.question()];
    EXPECT_EQ(output.finish_reason(), "") << "that was the question's last delta";
    output.mutable_text()->append(delta.text());
    output.mutable_token_ids()->MergeFrom(delta.token_ids());
    output.set_finish_reason(delta.finish_reason());
  }
};

TEST(ChunkedStream, DeltasComeBeforeTheResponseAndAddUpToIt) {
  FakeSocketServer server;
  const auto client = server.Connect();
  constexpr std::uint64_t kRequests = 6;
  constexpr std::int64_t kTokens = 30;
  for (std::uint64_t number = 0; number < kRequests; ++number) {
    client->Send(StreamingRequest(number, kTokens));
  }
  std::map<std::uint64_t, Received> received;
  for (std::uint64_t responses_received = 0; responses_received < kRequests;) {
    const v1::Response response = client->Receive();
    const std::uint64_t number = response.request_id();
    if (response.has_chunked_delta()) {
      received[number].Add(response.chunked_delta());
      continue;
    }
    ++responses_received;
    ASSERT_EQ(response.chunked().outputs_size(), 2) << response.error().message();
    for (std::uint32_t i = 0; i < 2; ++i) {
      const v1::ChunkedOutput& output = response.chunked().outputs(static_cast<int>(i));
      EXPECT_EQ(received[number].outputs[i].SerializeAsString(), output.SerializeAsString());
      EXPECT_EQ(Ids(output.token_ids().begin(), output.token_ids().end()),
                Greedy(number, i == 0 ? 'a' : 'b', kTokens));
    }
    EXPECT_EQ(response.chunked().usage().completion_tokens(), 2 * kTokens);
  }
}

TEST(ChunkedStream, WithoutStreamOnlyTheResponseComes) {
  FakeSocketServer server;
  const auto client = server.Connect();
  v1::Request request = StreamingRequest(1, 5);
  request.mutable_chunked()->set_stream(false);
  EXPECT_EQ(client->Call(request).chunked().outputs_size(), 2);
  EXPECT_EQ(client->socket().available(), 0U);
}

TEST(ChunkedStream, AClientThatLeavesEndsItsGeneration) {
  FakeSocketServer server;
  auto client = server.Connect();
  client->Send(StreamingRequest(1, 400));
  EXPECT_TRUE(client->Receive().has_chunked_delta());
  server.cluster().Hold();
  client.reset();
  EXPECT_TRUE(Eventually([&] { return server.server().status().connections == 0; }));
  const std::size_t before = server.cluster().plans().size();
  server.cluster().Release();
  server.scheduler().WaitIdle();
  EXPECT_LE(server.cluster().plans().size(), before + 1);
  EXPECT_TRUE(server.Connect()->Call(NumberedRequest(1)).has_score());
}

TEST(ChunkedStream, AFaultDuringAStreamIsTheLastReply) {
  FakeSocketServer server;
  server.cluster().BreakToken(Greedy(1, 'b', 3).at(2));
  const auto client = server.Connect();
  client->Send(StreamingRequest(1, 20));
  v1::Response response = client->Receive();
  while (response.has_chunked_delta()) {
    response = client->Receive();
  }
  EXPECT_EQ(response.error().code(), 500);
  EXPECT_EQ(response.error().reason(), "not_finite");
}

}  // namespace chunked_stream_test
}  // namespace scorecast::coordinator

// The chunked endpoint through a connection.

#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/coordinator/transports/socket/connection_checks.h"
#include "tests/coordinator/transports/socket/fake_socket_server.h"

namespace scorecast::coordinator {
namespace chunked_connection_test {

/// A request for labels after documents. Its content follows from its number.
v1::Request ChunkedRequestNumber(std::uint64_t number) {
  v1::Request request;
  request.set_request_id(number);
  v1::ChunkedRequest& chunked = *request.mutable_chunked();
  chunked.mutable_system_prompt()->set_text("system");
  for (std::uint64_t chunk = 0; chunk <= number % 4; ++chunk) {
    chunked.add_chunks()->set_text(std::string(chunk, 'x') + std::to_string(number));
  }
  chunked.mutable_question()->set_text("question " + std::to_string(number));
  chunked.add_labels(" yes");
  chunked.add_labels(" no");
  return request;
}

TEST(ChunkedConnection, ServesBothEndpoints) {
  FakeSocketServer server;
  const auto client = server.Connect();
  for (std::uint64_t number = 0; number < 20; ++number) {
    client->Send(number % 2 == 0 ? ChunkedRequestNumber(number) : NumberedRequest(number));
  }
  for (int i = 0; i < 20; ++i) {
    const v1::Response response = client->Receive();
    const std::uint64_t number = response.request_id();
    if (number % 2 == 1) {
      EXPECT_TRUE(response.has_score());
      continue;
    }
    const v1::ChunkedResponse expected = server.ResponseTo(ChunkedRequestNumber(number)).chunked();
    ASSERT_EQ(response.chunked().scores_size(), 1);
    EXPECT_EQ(response.chunked().scores(0).SerializeAsString(),
              expected.scores(0).SerializeAsString());
    EXPECT_EQ(response.chunked().usage().prompt_tokens(), expected.usage().prompt_tokens());
  }
}

TEST(ChunkedConnection, RefusesFaultyRequests) {
  FakeSocketServer server;
  const auto client = server.Connect();
  v1::Request request = ChunkedRequestNumber(1);
  request.mutable_chunked()->mutable_question()->clear_value();
  ExpectError(client->Call(request), 1, 400, "missing_field");
  request.mutable_chunked()->mutable_question()->set_text("");
  ExpectError(client->Call(request), 1, 400, "empty_question");
  request.mutable_chunked()->set_stream(true);
  ExpectError(client->Call(request), 1, 400, "empty_question");
  server.server().StartDraining();
  ExpectError(client->Call(ChunkedRequestNumber(2)), 2, 503, "draining");
}

TEST(ChunkedConnection, AResponseThatIsTooLargeByItselfIsRefused) {
  SocketOptions options;
  options.max_held_bytes = 70'000;
  FakeSocketServer server(options);
  const auto client = server.Connect();
  v1::Request request = ChunkedRequestNumber(1);
  request.mutable_chunked()->clear_question();
  for (int i = 0; i < 128; ++i) {
    request.mutable_chunked()->add_questions()->set_text("?");
  }
  request.mutable_chunked()->set_max_new_tokens(50);
  ExpectError(client->Call(request), 1, 413, "answer_too_large");
  EXPECT_TRUE(client->Call(ChunkedRequestNumber(2)).has_chunked());
}

TEST(ChunkedConnection, DropsTheRequestsOfAClientThatLeaves) {
  v1::Request fault = ChunkedRequestNumber(20);
  fault.mutable_chunked()->clear_question();
  ExpectRequestsOfALeavingClientDropped(ChunkedRequestNumber, fault);
}

}  // namespace chunked_connection_test
}  // namespace scorecast::coordinator

// The service as its clients see it: scoring through the request socket, bad frames, limits on
// connections, and drains.

#include <csignal>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/write.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/wire/frame.h"
#include "tests/e2e/eventually.h"
#include "tests/e2e/numbered_requests.h"
#include "tests/e2e/scorecast_program.h"
#include "tests/e2e/service.h"

namespace scorecast::testing {
namespace serve_test {

using launcher::Client;

v1::Response NextAfterRaw(Client& client, const std::string& bytes) {
  boost::asio::write(client.socket(), boost::asio::buffer(bytes));
  return client.Receive();
}

class ServeOnRanks : public ::testing::TestWithParam<int> {};

TEST_P(ServeOnRanks, RepliesOnceToEachRequestWithTheBitsOfABatch) {
  constexpr std::uint64_t kRequests = 60;
  constexpr std::size_t kConnections = 8;
  const BatchRun batch = RunBatch(NumberedCommand(GetParam()), NumberedBodies(kRequests));
  ASSERT_EQ(batch.exit_code, 0) << batch.err;

  const Service server(NumberedCommand(GetParam()));
  std::vector<std::unique_ptr<Client>> clients;
  for (std::size_t c = 0; c < kConnections; ++c) {
    clients.push_back(server.Connect());
    for (std::uint64_t i = 0; i < kRequests; ++i) {
      clients[c]->Send(NumberedRequest((i * (c + 1) * 7) % kRequests + kRequests * i));
    }
  }
  for (std::size_t c = 0; c < kConnections; ++c) {
    std::map<std::uint64_t, int> replies;
    for (std::uint64_t i = 0; i < kRequests; ++i) {
      const v1::Response response = clients[c]->Receive();
      ++replies[response.request_id()];
      ASSERT_TRUE(response.has_score()) << response.error().message();
      // Replies with larger ids are only counted.
      if (response.request_id() < kRequests) {
        EXPECT_EQ(ScoresOf(response), batch.Body(response.request_id()).at("scores").get<Scores>());
      }
    }
    EXPECT_EQ(replies.size(), kRequests) << "connection " << c;
  }
  // Every request once more, alone.
  for (std::uint64_t i = 0; i < kRequests; ++i) {
    EXPECT_EQ(ScoresOf(clients[0]->Call(NumberedRequest(i))),
              batch.Body(i).at("scores").get<Scores>());
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, ServeOnRanks, ::testing::Values(1, 2, 3, 4));

TEST(Serve, WritesACalibrationForInspect) {
  const std::string file = NewDirectory() / "calibration.json";
  const BatchCommand command = NumberedCommand(2, {"--threads", "1", "--write-calibration", file});
  const Service server(command);
  const ProcessResult result = RunScorecast(
      {"inspect", "--model", command.model, "--hosts", "1", "--cores", "2", "--calibration", file,
       "--query-tokens", "1", "--items", "2", "--item-tokens", "4"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, ::testing::HasSubstr("1 host x 2 ranks x 1 thread"));
  EXPECT_THAT(result.out, ::testing::HasSubstr("an exchange on a host"));
}

TEST(Serve, BadFramesGetErrorsAndTheConnectionGoesOn) {
  const Service server(NumberedCommand(0, {"--max-request-bytes", "100000"}));
  const auto client = server.Connect();
  const auto expect_error = [&](const v1::Response& response, std::uint64_t id, int code,
                                const std::string& reason) {
    EXPECT_EQ(response.request_id(), id);
    EXPECT_EQ(response.error().code(), code);
    EXPECT_EQ(response.error().reason(), reason);
  };
  std::string too_large("\x00\x01\x86\xa1", 4);  // 100001
  too_large += std::string(100001, 'x');
  expect_error(NextAfterRaw(*client, too_large), 0, 413, "request_too_large");
  expect_error(NextAfterRaw(*client, std::string("\0\0\0\x03\xff\xff\xff", 7)), 0, 400,
               "not_a_message");
  expect_error(NextAfterRaw(*client, std::string(4, '\0')), 0, 400, "unknown_endpoint");
  v1::Request no_endpoint;
  no_endpoint.set_request_id(77);
  expect_error(client->Call(no_endpoint), 77, 400, "unknown_endpoint");
  v1::Request no_query = NumberedRequest(3);
  no_query.mutable_score()->clear_query();
  expect_error(client->Call(no_query), 3, 400, "missing_field");
  v1::Request delimiter = NumberedRequest(4);
  delimiter.mutable_score()->mutable_items(0)->mutable_ids()->add_ids(7);
  expect_error(client->Call(delimiter), 4, 400, "delimiter_in_item");
  EXPECT_TRUE(client->Call(NumberedRequest(5)).has_score());
}

TEST(Serve, PartialFramesAndIdleConnectionsDisturbNoOtherClient) {
  const Service server(NumberedCommand(0, {"--idle-timeout", "3", "--max-connections", "40",
                                           "--max-connections-per-address", "40"}));
  const auto client = server.Connect();
  const v1::Response expected = client->Call(NumberedRequest(8));
  const std::string frame = proto::ToFrame(NumberedRequest(9));
  for (std::size_t cut = 0; cut < frame.size(); cut += 5) {
    const auto other = server.Connect();
    boost::asio::write(other->socket(), boost::asio::buffer(frame.substr(0, cut)));
  }
  const auto silent = server.Connect();
  boost::asio::write(silent->socket(), boost::asio::buffer(frame.substr(0, 9)));
  EXPECT_THROW(silent->Receive(), std::runtime_error) << "closed after --idle-timeout";
  const auto again = server.Connect();
  EXPECT_EQ(ScoresOf(again->Call(NumberedRequest(8))), ScoresOf(expected));
}

TEST(Serve, MoreConnectionsThanAllowedAreRefused) {
  const Service server(NumberedCommand(0, {"--max-connections", "1"}));
  // The service may not have closed an earlier connection yet.
  std::unique_ptr<Client> first;
  ASSERT_TRUE(Eventually([&] {
    first = server.Connect();
    return first->Call(NumberedRequest(1)).has_score();
  }));
  const v1::Response refusal = server.Connect()->Receive();
  EXPECT_EQ(refusal.error().code(), 503);
  EXPECT_EQ(refusal.error().reason(), "too_many_connections");
  EXPECT_TRUE(first->Call(NumberedRequest(2)).has_score());
}

/// Sends many requests, then the signal. Every request that the service has read gets a reply.
void ExpectDrain(Service& server, int signal) {
  constexpr std::uint64_t kRequests = 100;
  const auto client = server.Connect();
  for (std::uint64_t i = 0; i < kRequests; ++i) {
    client->Send(NumberedRequest(i));
  }
  client->Receive();  // The service is computing.
  kill(server.process().pid(), signal);
  std::uint64_t replies = 1;
  try {
    while (replies < kRequests) {
      const v1::Response response = client->Receive();
      EXPECT_TRUE(response.has_score() || response.error().code() == 503);
      ++replies;
    }
  } catch (const std::runtime_error&) {
    // Requests that the service had not read yet are lost with the connection.
  }
  EXPECT_GT(replies, 1u);
  const ProcessResult result = server.process().Wait();
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, ::testing::HasSubstr("stopped"));
}

TEST(Serve, AloneDrainsOnSigterm) {
  Service server(NumberedCommand(0));
  ExpectDrain(server, SIGTERM);
}

TEST(Serve, UnderMpirunDrainsOnSigusr1) {
  Service server(NumberedCommand(2));
  ExpectDrain(server, SIGUSR1);
}

}  // namespace serve_test
}  // namespace scorecast::testing

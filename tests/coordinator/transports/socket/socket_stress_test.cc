// Clients on many threads that connect, send requests, break off and return. ThreadSanitizer runs
// this test. It also checks that every client gets its own replies, each once.

#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "proto/wire/frame.h"
#include "tests/coordinator/transports/socket/fake_socket_server.h"

namespace scorecast::coordinator {
namespace socket_stress_test {

using launcher::Client;

constexpr std::uint64_t kNumbers = 40;

/// Sends a number of requests on one connection and receives their replies.
void AskAndCheck(Client& client, std::mt19937_64& random, const std::vector<Scores>& expected) {
  std::map<std::uint64_t, std::uint64_t> asked;  // request_id → number
  const std::uint64_t requests = 1 + random() % 20;
  for (std::uint64_t id = 0; id < requests; ++id) {
    v1::Request request = NumberedRequest(random() % kNumbers);
    asked[id] = request.request_id();
    request.set_request_id(id);
    client.Send(request);
  }
  for (std::uint64_t i = 0; i < requests; ++i) {
    const v1::Response response = client.Receive();
    const auto entry = asked.find(response.request_id());
    ASSERT_NE(entry, asked.end()) << "two replies, or one without a request";
    ASSERT_TRUE(response.has_score()) << response.error().message();
    EXPECT_EQ(ScoresOf(response.score()), expected[entry->second]);
    asked.erase(entry);
  }
}

/// Leaves at a random point, with requests in flight and a frame half sent, or sends rubbish.
void Misbehave(Client& client, std::mt19937_64& random) {
  for (std::uint64_t i = random() % 5; i > 0; --i) {
    client.Send(NumberedRequest(random() % kNumbers));
  }
  std::string frame = proto::ToFrame(NumberedRequest(random() % kNumbers));
  switch (random() % 3) {
    case 0:
      frame.resize(random() % frame.size());
      break;
    case 1:
      frame[4 + random() % (frame.size() - 4)] = static_cast<char>(random());
      break;
    default:
      frame[random() % 4] = static_cast<char>(random());
      break;
  }
  WriteBytes(client, frame);
}

TEST(SocketStress, EveryClientGetsItsOwnRepliesOnce) {
  FakeSocketServer server;
  std::vector<Scores> expected;
  for (std::uint64_t number = 0; number < kNumbers; ++number) {
    expected.push_back(ScoresOf(server.ResponseTo(NumberedRequest(number)).score()));
  }
  std::vector<std::thread> threads;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    threads.emplace_back([&, seed] {
      std::mt19937_64 random(seed);
      for (int round = 0; round < 15; ++round) {
        const auto client = server.Connect();
        if (random() % 3 == 0) {
          Misbehave(*client, random);
        } else {
          AskAndCheck(*client, random, expected);
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_TRUE(Eventually([&] { return server.server().status().connections == 0; }));
  server.scheduler().WaitIdle();
}

TEST(SocketStress, AShutdownAtAnyMomentLosesNoReply) {
  for (int round = 0; round < 10; ++round) {
    FakeSocketServer server;
    std::vector<std::thread> threads;
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      threads.emplace_back([&] {
        std::map<std::uint64_t, int> replies;
        try {
          const auto client = server.Connect();
          for (std::uint64_t id = 0; id < 50; ++id) {
            client->Send(NumberedRequest(id));
          }
          for (std::uint64_t i = 0; i < 50; ++i) {
            const v1::Response response = client->Receive();
            ++replies[response.request_id()];
            EXPECT_TRUE(response.has_score() || response.error().code() == 503);
          }
        } catch (const std::runtime_error&) {  // The server has gone.
        }
        for (const auto& [id, times] : replies) {
          EXPECT_EQ(times, 1) << id;
        }
      });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(round));
    server.server().StartDraining();
    server.service().RefuseAll();
    server.scheduler().WaitIdle();
    server.server().CloseConnections(std::chrono::seconds(10));
    for (std::thread& thread : threads) {
      thread.join();
    }
  }
}

}  // namespace socket_stress_test
}  // namespace scorecast::coordinator

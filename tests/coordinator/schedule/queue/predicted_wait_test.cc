// Predicted waits, worked out by hand and compared with a server that is fair.

#include "coordinator/schedule/queue/predicted_wait.h"

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/coordinator/schedule/queue/shared_server.h"

namespace scorecast::coordinator {
namespace predicted_wait_test {

constexpr JobForecast kShort = {.seconds = 1, .first_seconds = 1, .weight = 1};

void ExpectWait(const QueueForecast& queue, const JobForecast& job, double begin, double end) {
  const PredictedWait wait = PredictWait(queue, job);
  EXPECT_DOUBLE_EQ(wait.begin, begin);
  EXPECT_DOUBLE_EQ(wait.end, end);
}

TEST(PredictWait, AloneItWaitsForThePassInFlight) {
  ExpectWait({}, kShort, 0, 1);
  QueueForecast queue;
  queue.pass_seconds = 0.25;
  ExpectWait(queue, kShort, 0.25, 1.25);
  queue.speed = 0.5;
  ExpectWait(queue, kShort, 0.25, 2.25);
}

TEST(PredictWait, ItsOwnFlowGoesFirstAndOthersGetAsMuchAtMost) {
  QueueForecast queue;
  queue.own_seconds = 3;
  ExpectWait(queue, kShort, 3, 4);
  queue.addresses = {{.seconds = 100, .weighted_seconds = 100, .ahead = 0}};
  ExpectWait(queue, kShort, 3 + 4, 4 + 4);
  queue.addresses.push_back({.seconds = 0.5, .weighted_seconds = 0.5, .ahead = 0});
  ExpectWait(queue, kShort, 3 + 4 + 0.5, 4 + 4 + 0.5);
}

TEST(PredictWait, AConnectionSharesWhatItsAddressGets) {
  QueueForecast queue;
  queue.connections = {{.seconds = 10, .weighted_seconds = 10, .ahead = 0}};
  queue.addresses = {{.seconds = 1.5, .weighted_seconds = 1.5, .ahead = 0}};
  // While it gets 1, the other connection gets 1, so the address gets 2, and the other one 1.5.
  ExpectWait(queue, kShort, 1 + 1.5, 1 + 1 + 1.5);
}

TEST(PredictWait, WeightsDivideTheTime) {
  QueueForecast queue;
  // Ten seconds of jobs of weight 2.
  queue.addresses = {{.seconds = 10, .weighted_seconds = 5, .ahead = 0}};
  ExpectWait(queue, kShort, 2, 3);
  JobForecast heavy = kShort;
  heavy.weight = 4;
  ExpectWait(queue, heavy, 0.5, 1.5);
}

TEST(PredictWait, WhoWasServedLessIsServedFirst) {
  QueueForecast queue;
  queue.addresses = {{.seconds = 10, .weighted_seconds = 10, .ahead = 0.75}};
  ExpectWait(queue, kShort, 0.25, 1.25);
  queue.addresses[0].ahead = 5;
  ExpectWait(queue, kShort, 0, 1);
  queue.addresses[0].ahead = -5;
  ExpectWait(queue, kShort, 6, 7);
}

TEST(PredictWait, ALongJobBeginsAfterItsFirstPartAndEndsAfterAll) {
  QueueForecast queue;
  queue.connections = {{.seconds = 100, .weighted_seconds = 100, .ahead = 0}};
  ExpectWait(queue, {.seconds = 20, .first_seconds = 0.25, .weight = 1}, 0.25, 40);
}

TEST(ForecastOf, FlowsAreThoseOfRivalsAtTheirLevel) {
  const auto flow = [](const ClientId& client, std::int32_t priority, std::int32_t size_class,
                       double seconds, const FairTags& tags) {
    return FlowBacklog{{client, priority, size_class}, WeightOf(priority), seconds, tags};
  };
  const FairPath path = {{"a", 1, "n"}, 0, 0};
  const QueueForecast queue = ForecastOf(path, {5, 10, 20, 30},
                                         std::vector<FlowBacklog>{
                                             flow({"a", 1, "n"}, 0, 0, 7, {5, 10, 20, 30}),
                                             flow({"a", 1, "n"}, 0, 2, 6, {5, 10, 20, 31}),
                                             flow({"a", 1, "n"}, -1, 0, 5, {5, 10, 20, 32}),
                                             flow({"a", 2, "n"}, 0, 0, 4, {5, 10, 24, 40}),
                                             flow({"a", 2, "n"}, -1, 0, 2.5, {5, 10, 24, 50}),
                                             flow({"b", 1, "n"}, 0, 0, 3, {5, 9, 1, 2}),
                                             flow({"b", 3, "n"}, 0, 0, 2, {5, 9, 1, 2}),
                                             flow({"c", 1, "m"}, 0, 0, 1, {7, 1, 2, 3}),
                                             flow({"d", 1, "m"}, 0, 0, 1, {7, 4, 2, 3}),
                                         });
  EXPECT_EQ(queue.own_seconds, 7);
  ASSERT_EQ(queue.flows.size(), 2U);
  EXPECT_EQ(queue.flows[0].seconds, 6);
  EXPECT_EQ(queue.flows[0].ahead, 1);
  EXPECT_DOUBLE_EQ(queue.flows[1].weighted_seconds, 4);
  EXPECT_EQ(queue.flows[1].ahead, 2);
  ASSERT_EQ(queue.connections.size(), 1U);
  EXPECT_EQ(queue.connections[0].seconds, 6.5);
  EXPECT_DOUBLE_EQ(queue.connections[0].weighted_seconds, 6);
  EXPECT_EQ(queue.connections[0].ahead, 4);
  ASSERT_EQ(queue.addresses.size(), 1U);
  EXPECT_EQ(queue.addresses[0].seconds, 5);
  EXPECT_EQ(queue.addresses[0].ahead, -1);
  ASSERT_EQ(queue.networks.size(), 1U);
  EXPECT_EQ(queue.networks[0].seconds, 2);
  EXPECT_EQ(queue.networks[0].ahead, 2);
}

TEST(SecondsUntilServed, RivalsGetNoMoreThanWhatWaits) {
  QueueForecast queue;
  queue.connections = {{.seconds = 1, .weighted_seconds = 1, .ahead = 0}};
  queue.addresses = {{.seconds = 1, .weighted_seconds = 0.5, .ahead = 0}};
  EXPECT_DOUBLE_EQ(SecondsUntilServed(queue, 1, 3), 5);
  queue.own_seconds = 7;
  EXPECT_DOUBLE_EQ(WaitingSeconds(queue), 9);
}

TEST(PredictWait, ComesTrueOnAServerThatIsFair) {
  std::mt19937 random(5);
  const auto pick = [&](double low, double high) {
    return std::uniform_real_distribution(low, high)(random);
  };
  for (int round = 0; round < 200; ++round) {
    SharedServer server;
    const auto weight = [](const ClientId& client) { return client.connection == 2 ? 2.0 : 1.0; };
    for (std::size_t job = 1; job <= 40; ++job) {
      const ClientId client = {std::to_string(random() % 4), random() % 3};
      server.Add(job, client, pick(0.02, 2), weight(client));
    }
    for (double end = pick(0, 5); server.now() < end;) {
      server.Work();
    }
    const ClientId client = {std::to_string(random() % 6), random() % 4};
    const double seconds = pick(0.02, 3);
    const PredictedWait wait = PredictWait(
        server.StateFor(client, 1).forecast,
        {.seconds = seconds, .first_seconds = SharedServer::kQuantum, .weight = weight(client)});
    const double submitted = server.now();
    server.Add(0, client, seconds, weight(client));
    while (server.SecondsOf(client) > 0) {
      if (const auto done = server.Work(); done && done->job == 0) {
        break;
      }
    }
    // Each of the others may be a quantum ahead, and while an address gets a part of its work, it
    // is not known of which weight that is.
    const double began = *server.Began(0) - submitted;
    const double ended = server.now() - submitted;
    EXPECT_NEAR(wait.begin, began, 0.3 + 0.25 * began) << round;
    EXPECT_NEAR(wait.end, ended, 0.3 + 0.25 * ended) << round;
  }
}

}  // namespace predicted_wait_test
}  // namespace scorecast::coordinator

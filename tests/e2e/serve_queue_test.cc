// The queue of waiting requests: its limit, deadlines of requests in it, and clients that
// disconnect.

#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/eventually.h"
#include "tests/e2e/numbered_requests.h"
#include "tests/e2e/service.h"

namespace scorecast::testing {
namespace serve_queue_test {

using launcher::Client;
using std::chrono::steady_clock;
using ::testing::MatchesRegex;

/// Receives `count` replies, by request_id. Each request must have one.
std::map<std::uint64_t, v1::Response> ReceiveAll(Client& client, std::size_t count) {
  std::map<std::uint64_t, v1::Response> replies;
  for (std::size_t i = 0; i < count; ++i) {
    v1::Response response = client.Receive();
    const std::uint64_t id = response.request_id();
    EXPECT_TRUE(replies.emplace(id, std::move(response)).second) << id << " has two replies";
  }
  return replies;
}

/// Sends requests at once, of which the queue has room for some. The admitted requests get the
/// scores `expected`; the others are refused because the queue is full. Returns the errors.
std::vector<v1::Error> OverfillQueue(Client& client, const Scores& expected) {
  constexpr std::uint64_t kRequests = 20;
  for (std::uint64_t i = 0; i < kRequests; ++i) {
    client.Send(HeavyRequest(i));
  }
  std::vector<v1::Error> errors;
  for (const auto& [id, response] : ReceiveAll(client, kRequests)) {
    if (response.has_score()) {
      EXPECT_EQ(ScoresOf(response), expected);
      continue;
    }
    errors.push_back(response.error());
    EXPECT_EQ(response.error().code(), 429);
    EXPECT_EQ(response.error().reason(), "queue_full");
    EXPECT_GE(response.error().retry_after_seconds(), 1);
    EXPECT_LE(response.error().retry_after_seconds(), 60);
  }
  EXPECT_GE(errors.size(), 1U);
  EXPECT_LE(errors.size(), kRequests - 1) << "the queue takes one request";
  return errors;
}

TEST(ServeQueue, RefusesMoreThanItsLimitWithARetryTime) {
  const Service service(NumberedCommand(2, {"--max-queue", "1"}));
  const auto client = service.Connect();
  const Scores expected = ScoresOf(client->Call(HeavyRequest(0)));
  OverfillQueue(*client, expected);
  EXPECT_EQ(ScoresOf(client->Call(HeavyRequest(0))), expected) << "there is room again";
}

TEST(ServeQueue, RefusesWhatWouldWaitTooLongUntilTheTimeThatItTells) {
  const Service service(NumberedCommand(2, {"--max-wait-ms", "300"}));
  const auto client = service.Connect();
  const Scores expected = ScoresOf(client->Call(HeavyRequest(0)));
  constexpr std::uint64_t kRequests = 150;  // More than 300 ms of work on any CPU.
  for (std::uint64_t i = 0; i < kRequests; ++i) {
    client->Send(HeavyRequest(i));
  }
  std::uint64_t refused = 0;
  for (const auto& [id, response] : ReceiveAll(*client, kRequests)) {
    if (response.has_score()) {
      EXPECT_EQ(ScoresOf(response), expected);
      continue;
    }
    ++refused;
    EXPECT_EQ(response.error().code(), 429);
    EXPECT_EQ(response.error().reason(), "wait_too_long") << response.error().message();
    EXPECT_GE(response.error().retry_after_seconds(), 1);
  }
  EXPECT_GE(refused, 1U);
  EXPECT_LE(refused, kRequests - 1);
  EXPECT_EQ(ScoresOf(client->Call(HeavyRequest(0))), expected);
}

TEST(ServeQueue, RefusesMoreTokensThanItsLimitButNoRequestAlone) {
  const Service service(NumberedCommand(2, {"--max-queue-tokens", "100"}));
  const auto client = service.Connect();
  const Scores expected = ScoresOf(client->Call(HeavyRequest(0)));
  EXPECT_EQ(expected.size(), 100U) << "its 6060 tokens are admitted, because no others wait";
  for (const v1::Error& error : OverfillQueue(*client, expected)) {
    EXPECT_THAT(error.message(), MatchesRegex("Too many tokens wait: [0-9]+ \\+ [0-9]+ > 100\\."));
  }
}

TEST(ServeQueue, ADeadlineThatPassesInTheQueueIsAnError) {
  constexpr std::uint64_t kRequests = 10;
  const Service service(NumberedCommand(2));
  const auto client = service.Connect();
  const Scores expected = ScoresOf(client->Call(NumberedRequest(5)));
  for (std::uint64_t i = 0; i < kRequests; ++i) {
    client->Send(HeavyRequest(i));
    v1::Request hasty = NumberedRequest(5);
    hasty.set_request_id(100 + i);
    hasty.mutable_score()->set_timeout_ms(1);
    client->Send(hasty);
    hasty.set_request_id(200 + i);
    hasty.mutable_score()->set_timeout_ms(600'000);
    client->Send(hasty);
  }
  std::size_t late = 0;
  for (const auto& [id, response] : ReceiveAll(*client, 3 * kRequests)) {
    if (id < 100) {
      EXPECT_TRUE(response.has_score());
    } else if (id >= 200 || response.has_score()) {
      EXPECT_EQ(ScoresOf(response), expected) << response.error().message();
    } else {
      const bool is_refused = response.error().code() == 429;
      EXPECT_EQ(response.error().code(), is_refused ? 429 : 504);
      EXPECT_EQ(response.error().reason(), is_refused ? "deadline_too_close" : "deadline_passed");
      EXPECT_EQ(response.error().param(), "timeout_ms");
      ++late;
    }
  }
  EXPECT_GE(late, 1U);
}

// Compares times of this machine with each other: if requests of disconnected clients were still
// computed, the next request would always wait for all of them.
TEST(ServeQueue, RequestsOfAClientThatDisconnectsAreDropped) {
  constexpr int kLeft = 200;
  const Service service(NumberedCommand(2));
  const auto client = service.Connect();
  const Scores expected = ScoresOf(client->Call(HeavyRequest(0)));
  const auto time_of_one = [&] {
    const auto begin = steady_clock::now();
    EXPECT_EQ(ScoresOf(client->Call(HeavyRequest(0))), expected);
    return steady_clock::now() - begin;
  };
  const steady_clock::duration one = std::min({time_of_one(), time_of_one(), time_of_one()});
  EXPECT_TRUE(Eventually([&] {
    {
      const auto leaver = service.Connect();
      for (std::uint64_t i = 0; i < kLeft; ++i) {
        leaver->Send(HeavyRequest(i));
      }
      leaver->Receive();
    }
    const steady_clock::duration waited = time_of_one();
    const auto seconds = [](steady_clock::duration time) {
      return std::chrono::duration<double>(time).count();
    };
    std::cout << "one request takes " << seconds(one) << " s; after " << kLeft
              << " dropped ones it took " << seconds(waited) << " s\n";
    return waited < one * kLeft / 2;
  }));
}

}  // namespace serve_queue_test
}  // namespace scorecast::testing

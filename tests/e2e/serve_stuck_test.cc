// A rank is stopped: deadlines nevertheless pass, and a drain ends in time with a reply to every
// request.

#include <csignal>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/eventually.h"
#include "tests/e2e/numbered_requests.h"
#include "tests/e2e/service.h"

namespace scorecast::testing {
namespace serve_stuck_test {

TEST(ServeStuck, RepliesDoNotWaitForAStoppedRank) {
  Service service(NumberedCommand(2, {"--drain-seconds", "1"}));
  const auto client = service.Connect();
  EXPECT_TRUE(client->Call(NumberedRequest(1)).has_score());
  const std::vector<pid_t> ranks = service.Ranks();
  ASSERT_EQ(ranks.size(), 2U);
  kill(ranks[1], SIGSTOP);

  // The first request is in the pass that is stuck; the others are queued. Their deadlines leave
  // enough time to admit them even if the first pass above was slow.
  constexpr std::uint64_t kHurried = 3;
  for (std::uint64_t number = 1; number <= kHurried; ++number) {
    v1::Request hurried = NumberedRequest(number);
    hurried.mutable_score()->set_timeout_ms(1000);
    client->Send(hurried);
  }
  std::set<std::uint64_t> late;
  for (std::uint64_t i = 0; i < kHurried; ++i) {
    const v1::Response response = client->Receive();
    late.insert(response.request_id());
    EXPECT_EQ(response.error().code(), 504) << response.error().message();
    EXPECT_EQ(response.error().reason(), "deadline_passed");
  }
  EXPECT_EQ(late.size(), kHurried);

  constexpr std::uint64_t kOutstanding = 10;
  for (std::uint64_t number = 0; number < kOutstanding; ++number) {
    client->Send(NumberedRequest(number));
  }
  ASSERT_TRUE(Eventually([&] { return HasReadAll(*client); }));
  kill(service.process().pid(), SIGUSR1);
  std::map<std::uint64_t, int> replies;
  try {
    for (;;) {
      const v1::Response response = client->Receive();
      EXPECT_EQ(response.error().code(), 503);
      EXPECT_EQ(response.error().reason(), "draining");
      EXPECT_EQ(++replies[response.request_id()], 1);
    }
  } catch (const std::runtime_error&) {  // The connection has ended.
  }
  EXPECT_EQ(replies.size(), kOutstanding);
  const ProcessResult result = service.process().Wait();
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(result.exit_code, 72) << result.err;
  EXPECT_THAT(result.err, ::testing::HasSubstr("the last pass does not end: leaving it"));
  for (const pid_t rank : ranks) {
    EXPECT_TRUE(Eventually([&] { return !IsRunning(rank); })) << rank;
  }
}

}  // namespace serve_stuck_test
}  // namespace scorecast::testing

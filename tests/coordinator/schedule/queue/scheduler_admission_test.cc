// Jobs that are refused because of their predicted wait, on a virtual clock.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "coordinator/schedule/queue/scheduler_status.h"
#include "tests/coordinator/schedule/queue/scheduler_bench.h"

namespace scorecast::coordinator {
namespace scheduler_admission_test {

using proto::PlanLimits;
using std::chrono::seconds;

constexpr PlanLimits kLimits{
    .max_rows = 64, .max_reads = 64, .pass_kv_rows = 512, .kept_kv_rows = 64 * 64};

/// A scheduler whose clock stands still, and for which a row takes 0.1 s. A pass of 20 rows, which
/// is 2 s, is in flight.
struct StandingClock {
  explicit StandingClock(std::optional<double> max_wait_seconds, std::int32_t cached_pages = 0)
      : bench(
            kLimits,
            {.max_wait_seconds = max_wait_seconds,
             .cached_pages = cached_pages,
             .time_model = PassTimeModel(PassRates{.overhead = 0, .row = 0.1, .key = 0, .read = 0}),
             .now = [this] { return now.load(); }}) {
    bench.cluster.Hold();
    Submit("in flight", 20);
  }

  Pending& Submit(const std::string& address, int rows, std::optional<seconds> time = {},
                  std::uint64_t connection = 1) {
    Request request{.sequences = {ScoredPrompt(rows, 9)}};
    request.client = {address, connection};
    if (time) {
      request.deadline = now.load() + *time;
    }
    return requests.emplace_back(bench.scheduler, std::move(request));
  }

  /// Prompts of `shared` equal rows, and then one of their own.
  Pending& SubmitPrompts(int shared, std::initializer_list<proto::TokenId> last) {
    Request request;
    for (const proto::TokenId token : last) {
      proto::PackedSequence prompt = ScoredPrompt(shared + 1, 9);
      prompt.tokens.back() = token;
      request.sequences.push_back(std::move(prompt));
    }
    return requests.emplace_back(bench.scheduler, std::move(request));
  }

  double predicted_seconds() const { return bench.scheduler.status().predicted_seconds; }

  void ExpectAllComputedBut(const std::initializer_list<const Pending*>& refused) {
    bench.cluster.Release();
    for (Pending& request : requests) {
      if (std::find(refused.begin(), refused.end(), &request) == refused.end()) {
        request.ExpectComputed();
      }
    }
  }

  std::atomic<Clock::time_point> now = Clock::time_point(std::chrono::hours(1));
  ManyPending requests;
  SchedulerBench bench;
};

TEST(SchedulerAdmission, AClientWithMuchWorkIsRefusedAndNoOther) {
  StandingClock clock(10);
  clock.Submit("greedy", 60);
  clock.Submit("greedy", 30);
  Pending& refused = clock.Submit("greedy", 10);
  const proto::Error error = refused.Refusal();
  EXPECT_EQ(error.code, 429);
  EXPECT_EQ(error.reason, "wait_too_long");
  EXPECT_EQ(error.message, "The request would have to wait too long: 11.0 s > 10.0 s.");
  ASSERT_TRUE(error.retry_after_seconds.has_value());
  EXPECT_GE(*error.retry_after_seconds, 1);
  EXPECT_LE(*error.retry_after_seconds, 4) << "when 1 s of its work and the pass are done";
  clock.Submit("polite", 10);
  clock.Submit("greedy", 10, {}, /*connection=*/2);
  clock.ExpectAllComputedBut({&refused});
}

TEST(SchedulerAdmission, ADeadlineThatOthersMakeTooCloseIsRefused) {
  StandingClock clock(30);
  clock.Submit("greedy", 60);
  Pending& refused = clock.Submit("greedy", 10, seconds(5));
  const proto::Error error = refused.Refusal();
  EXPECT_EQ(error.code, 429);
  EXPECT_EQ(error.reason, "deadline_too_close");
  EXPECT_EQ(error.param, "timeout_ms");
  EXPECT_EQ(error.message, "The request would be computed in 9.0 s, but its deadline is in 5.0 s.");
  ASSERT_TRUE(error.retry_after_seconds.has_value());
  clock.Submit("greedy", 10, seconds(10));
  clock.Submit("polite", 10, seconds(5));
  clock.Submit("polite", 60, seconds(5), /*connection=*/2);  // It takes 6 s even alone.
  clock.ExpectAllComputedBut({&refused});
}

TEST(SchedulerAdmission, ARequestThatComesBackWhenItWasToldToIsAdmitted) {
  StandingClock clock(10);
  clock.Submit("greedy", 60);
  clock.Submit("greedy", 30);
  Pending& refused = clock.Submit("greedy", 10);
  const std::int64_t told = refused.Refusal().retry_after_seconds.value();
  clock.now = clock.now.load() + seconds(told);
  clock.Submit("greedy", 10);
  clock.ExpectAllComputedBut({&refused});
}

constexpr std::int32_t kManyPages = 64;

TEST(SchedulerAdmission, WorkThatRequestsShareIsPredictedOnce) {
  StandingClock clock(100, kManyPages);
  for (proto::TokenId last = 10; last < 30; ++last) {
    clock.SubmitPrompts(640, {last});
  }
  EXPECT_NEAR(clock.predicted_seconds(), 0.1 * (640 + 20), 1e-6);
  clock.ExpectAllComputedBut({});
}

TEST(SchedulerAdmission, WorkThatPromptsOfARequestShareIsPredictedOnce) {
  StandingClock clock(100, kManyPages);
  clock.SubmitPrompts(640, {10, 11, 12, 13, 14});
  EXPECT_NEAR(clock.predicted_seconds(), 0.1 * (640 + 5), 1e-6);
  clock.SubmitPrompts(640, {15, 16});
  EXPECT_NEAR(clock.predicted_seconds(), 0.1 * (640 + 7), 1e-6);
  clock.ExpectAllComputedBut({});
}

TEST(SchedulerAdmission, SharedWorkOfARequestThatLeavesIsThatOfTheNext) {
  StandingClock clock(100, kManyPages);
  Pending& first = clock.SubmitPrompts(320, {10});
  Pending& second = clock.SubmitPrompts(640, {11});
  clock.SubmitPrompts(640, {12});
  EXPECT_NEAR(clock.predicted_seconds(), 0.1 * (640 + 3), 1e-6);
  clock.bench.scheduler.Cancel({first.ticket()});
  EXPECT_NEAR(clock.predicted_seconds(), 0.1 * (640 + 2), 1e-6);
  clock.bench.scheduler.Cancel({second.ticket()});
  EXPECT_NEAR(clock.predicted_seconds(), 0.1 * (640 + 1), 1e-6);
  clock.ExpectAllComputedBut({&first, &second});
}

TEST(SchedulerAdmission, SharedWorkIsThatOfEachIfTheCacheHasNoRoomForIt) {
  StandingClock clock(1000, /*cached_pages=*/10);
  clock.SubmitPrompts(640, {10});
  clock.SubmitPrompts(640, {11});
  EXPECT_NEAR(clock.predicted_seconds(), 0.1 * 2 * 641, 1e-6);
  clock.ExpectAllComputedBut({});
}

TEST(SchedulerAdmission, WithoutALimitNothingIsPredicted) {
  StandingClock clock(std::nullopt);
  clock.Submit("batch", 60);
  clock.Submit("batch", 60);
  clock.Submit("batch", 10, seconds(2));
  clock.ExpectAllComputedBut({});
}

}  // namespace scheduler_admission_test
}  // namespace scorecast::coordinator

// What waits in the scheduler: its tokens and bytes, their bounds, and the status.

#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/schedule/queue/scheduler_status.h"
#include "tests/coordinator/schedule/queue/scheduler_bench.h"

namespace scorecast::coordinator {
namespace scheduler_queue_test {

using proto::PlanLimits;
using proto::TokenId;

constexpr PlanLimits kLimits{
    .max_rows = 64, .max_reads = 64, .pass_kv_rows = 512, .kept_kv_rows = 64 * 64};

/// Prompts of one query and an item of `item_tokens` each, which share the query's tokens and the
/// labels.
Request Prompts(const std::vector<TokenId>& query, int items, int item_tokens) {
  const auto list = std::make_shared<const std::vector<TokenId>>(query);
  const proto::LabelList labels = {1, 2, 3};
  Request request;
  for (int i = 0; i < items; ++i) {
    proto::PackedSequence& sequence = request.sequences.emplace_back();
    Append(sequence, proto::SegmentKind::kPrefix, Text(i, item_tokens), 0);
    sequence.shared = {list, 0, list->size(), /*are_last=*/i % 2 == 1};
    sequence.segments[0].length = static_cast<std::int32_t>(sequence.rows());
    sequence.label_lists = {labels};
    ReadLast(sequence);
  }
  return request;
}

TEST(SchedulerQueue, PromptsWithSharedTokensAreComputedWhole) {
  for (const std::int32_t cached_pages : {0, 20}) {
    SchedulerBench bench(kLimits, {.cached_pages = cached_pages});
    ManyPending requests;
    for (const int query : {1, 30, 200, 64}) {
      if (cached_pages == 0) {
        requests.emplace_back(bench.scheduler, Prompts(Text(query, query), 9, 5));
      }
      for (const int item : {5, 6, 7}) {
        requests.emplace_back(bench.scheduler, Prompts(Text(query, query), 1, item));
      }
    }
    for (Pending& request : requests) {
      request.ExpectComputed();
    }
  }
}

TEST(SchedulerQueue, AWaitingRequestTakesTheMemoryOfOneQuery) {
  constexpr int kQuery = 2000;
  constexpr int kItems = 128;
  constexpr int kItem = 4;
  SchedulerBench bench(kLimits);
  bench.cluster.Hold();
  Pending in_flight(bench.scheduler, PlainRequest(Text(1, 3), {1}));
  const SchedulerStatus before = bench.scheduler.status();
  EXPECT_EQ(before.waiting_jobs, 0);
  EXPECT_EQ(before.waiting_tokens, 0);
  EXPECT_EQ(before.waiting_bytes, 0);
  EXPECT_GT(before.bytes, 0);
  EXPECT_EQ(before.last_pass_rows, 3);
  EXPECT_EQ(before.passes, 0);
  EXPECT_EQ(before.oldest_wait_seconds, 0);

  Pending waiting(bench.scheduler, Prompts(Text(1, kQuery), kItems, kItem));
  const SchedulerStatus status = bench.scheduler.status();
  EXPECT_EQ(status.waiting_jobs, 1);
  EXPECT_EQ(status.waiting_tokens, kQuery + kItems * kItem);
  EXPECT_EQ(status.waiting_rows, kItems * (kQuery + kItem));
  EXPECT_GE(status.waiting_bytes, 4 * status.waiting_tokens);
  EXPECT_LE(status.waiting_bytes, 4 * kQuery + kItems * 1024);
  EXPECT_EQ(status.bytes, before.bytes + status.waiting_bytes);

  bench.scheduler.Cancel({waiting.ticket()});
  EXPECT_EQ(waiting.Refusal().code, 499);
  const SchedulerStatus after = bench.scheduler.status();
  EXPECT_EQ(after.waiting_jobs, 0);
  EXPECT_EQ(after.waiting_tokens, 0);
  EXPECT_EQ(after.bytes, before.bytes);
  bench.cluster.Release();
  in_flight.ExpectComputed();
}

TEST(SchedulerQueue, KnowsTheAgeOfTheOldestJobAndWhenAllAreComputed) {
  SchedulerBench bench(kLimits);
  Pending measured(bench.scheduler, PlainRequest(Text(1, 40), {1}));
  measured.ExpectComputed();
  bench.scheduler.WaitIdle();
  bench.cluster.Hold();
  Pending in_flight(bench.scheduler, PlainRequest(Text(1, 3), {1}));
  EXPECT_EQ(bench.scheduler.status().oldest_wait_seconds, 0) << "it is in a pass";
  EXPECT_EQ(bench.scheduler.status().predicted_seconds, 0);
  EXPECT_EQ(bench.scheduler.status().running_jobs, 1);

  const Clock::time_point submitted = Clock::now();
  Pending oldest(bench.scheduler, PlainRequest(Text(2, 30), {1}));
  const Clock::time_point in_queue = Clock::now();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  Pending newer(bench.scheduler, PlainRequest(Text(3, 20), {1}));
  const auto seconds = [](Clock::duration time) {
    return std::chrono::duration<double>(time).count();
  };
  const double at_least = seconds(Clock::now() - in_queue);
  const SchedulerStatus status = bench.scheduler.status();
  EXPECT_EQ(status.waiting_jobs, 2);
  EXPECT_EQ(status.running_jobs, 1);
  EXPECT_GE(status.oldest_wait_seconds, at_least);
  EXPECT_LE(status.oldest_wait_seconds, seconds(Clock::now() - submitted));
  const auto seconds_of = [&](std::int64_t first, std::int64_t second) {
    // Each row attends to itself and to those before it. Reads of completions are not predicted.
    PassWork work = {.rows = first, .keys = first * (first + 1) / 2, .reads = 0};
    work += {.rows = second, .keys = second * (second + 1) / 2, .reads = 0};
    return status.pass_times.rates.Seconds(work);
  };
  EXPECT_DOUBLE_EQ(status.predicted_seconds, seconds_of(30, 20));

  bench.scheduler.Cancel({oldest.ticket()});
  const SchedulerStatus left = bench.scheduler.status();
  EXPECT_EQ(left.waiting_jobs, 1);
  EXPECT_EQ(left.running_jobs, 1);
  EXPECT_LT(left.oldest_wait_seconds, seconds(Clock::now() - in_queue)) << "that of the newer one";
  EXPECT_DOUBLE_EQ(left.predicted_seconds, seconds_of(20, 0));
  bench.cluster.Release();
  newer.ExpectComputed();
}

TEST(SchedulerQueue, TellsOfEachPassBeforeItsResults) {
  std::vector<PassSummary> passes;
  SchedulerBench bench(kLimits,
                       {.on_pass = [&](const PassSummary& pass) { passes.push_back(pass); }});
  bench.cluster.Hold();
  bench.Score("first", {3});
  bench.Score("second", {30});
  Pending& third = bench.Score("third", {20});
  bench.cluster.Release();
  third.ExpectComputed();
  ASSERT_EQ(passes.size(), 2U);
  EXPECT_EQ(passes[0].rows, 3);
  EXPECT_EQ(passes[0].sequences, 1);
  EXPECT_EQ(passes[1].rows, 50);
  EXPECT_EQ(passes[1].sequences, 2);
  EXPECT_GT(passes[1].seconds, 0);
}

TEST(SchedulerQueue, MoreTokensThanItsLimitAreRefused) {
  SchedulerBench bench(kLimits, {.max_queue_tokens = 100});
  bench.cluster.Hold();
  Pending& in_flight = bench.Score("in flight", {20});
  Pending& first = bench.Score("first", {60});
  const proto::Error error = bench.Score("refused", {30, 11}).Refusal();
  EXPECT_EQ(error.code, 429);
  EXPECT_EQ(error.reason, "queue_full");
  EXPECT_EQ(error.message, "Too many tokens wait: 60 + 41 > 100.");
  ASSERT_TRUE(error.retry_after_seconds.has_value());
  EXPECT_GE(*error.retry_after_seconds, 1);
  Pending& second = bench.Score("second", {20, 20});
  bench.cluster.Release();
  ExpectAllComputed({&in_flight, &first, &second});
  bench.Score("later", {60}).ExpectComputed();
}

TEST(SchedulerQueue, ALargerRequestIsAdmittedIfNoOtherWaits) {
  SchedulerBench bench(kLimits, {.max_queue_tokens = 100});
  bench.cluster.Hold();
  Pending& in_flight = bench.Score("in flight", {20});
  Pending& large = bench.Score("large", {300});
  EXPECT_EQ(bench.Score("refused", {1}).Refusal().message, "Too many tokens wait: 300 + 1 > 100.");
  bench.cluster.Release();
  ExpectAllComputed({&in_flight, &large});
}

TEST(SchedulerQueue, AClientThatFillsItDoesNotKeepOthersOut) {
  SchedulerBench bench(kLimits, {.max_queue = 32, .max_queue_tokens = 320});
  bench.cluster.Hold();
  Pending& in_flight = bench.Score("in flight", {20});
  const auto of = [&](const std::string& client, int rows) {
    Request request{.sequences = {ScoredPrompt(rows, 9)}};
    request.client = {.address = client};
    return request;
  };
  Pending greedy(bench.scheduler, of("greedy", 300));
  Pending refused(bench.scheduler, of("greedy", 21));
  EXPECT_EQ(refused.Refusal().message, "Too many tokens wait: 300 + 21 > 320.");
  // An address has a small share with up to 20 tokens, or with one request.
  Pending polite(bench.scheduler, of("polite", 15));
  Pending polite_again(bench.scheduler, of("polite", 5));
  Pending no_longer_small(bench.scheduler, of("polite", 5));
  EXPECT_EQ(no_longer_small.Refusal().message, "Too many tokens wait: 320 + 5 > 320.");
  Pending longer(bench.scheduler, of("another", 300));
  Pending beyond_twice(bench.scheduler, of("a third", 21));
  EXPECT_EQ(beyond_twice.Refusal().message, "Too many tokens wait: 620 + 21 > 640.");
  bench.cluster.Release();
  ExpectAllComputed({&in_flight, &greedy, &polite, &polite_again, &longer});
}

TEST(SchedulerQueue, LongLabelListsAreRefusedByTheirBytes) {
  SchedulerBench bench(kLimits, {.max_queue_tokens = 100});
  bench.cluster.Hold();
  Pending& in_flight = bench.Score("in flight", {20});
  const auto labelled = [](std::size_t labels) {
    Request request{.sequences = {ScoredPrompt(3, 9)}};
    request.sequences[0].label_lists = {std::vector<TokenId>(labels, 1)};
    return request;
  };
  Pending first(bench.scheduler, labelled(5000));
  Pending refused(bench.scheduler, labelled(5000));
  EXPECT_THAT(refused.Refusal().message, ::testing::HasSubstr("Too many bytes wait: "));
  Pending second(bench.scheduler, labelled(10));
  bench.cluster.Release();
  ExpectAllComputed({&in_flight, &first, &second});
}

TEST(SchedulerQueue, TheStatusCountsWhatRunsAndWhatIsDone) {
  SchedulerBench bench(kLimits, {.cached_pages = 20});
  {
    HeldCompletion completion(bench, 8, /*held_after=*/3);
    completion.WaitUntilHeld();
    // The pass after the third token is formed under the scheduler's lock, after this wait.
    bench.Score("waiting", {3, 4});
    const SchedulerStatus status = bench.scheduler.status();
    EXPECT_EQ(status.running_jobs, 1) << "the completion; the other request waits";
    EXPECT_EQ(status.running_completions, 1);
    EXPECT_GT(status.held_kv_pages, 0) << "those of the completion";
    EXPECT_LT(status.held_kv_pages, status.kv_pages);
    EXPECT_EQ(status.passes, 3);
    EXPECT_GT(status.pass_times.rates.Seconds({.rows = 1}), 0);
    bench.cluster.Release();
    completion.ExpectComputed();
  }
  bench.scheduler.WaitIdle();
  const SchedulerStatus idle = bench.scheduler.status();
  EXPECT_EQ(idle.waiting_jobs, 0);
  EXPECT_EQ(idle.running_jobs, 0);
  EXPECT_GT(idle.cache.cached_pages, 0);
  EXPECT_EQ(idle.held_kv_pages, 0) << "what is only cached can be evicted";
  EXPECT_EQ(idle.waiting_rows, 0);
  EXPECT_EQ(idle.bytes, 0);
  EXPECT_EQ(idle.running_completions, 0);
  EXPECT_EQ(idle.passes, static_cast<std::int64_t>(bench.cluster.plans().size()));
  EXPECT_GT(idle.cache.asked_tokens, 0);
}

}  // namespace scheduler_queue_test
}  // namespace scorecast::coordinator

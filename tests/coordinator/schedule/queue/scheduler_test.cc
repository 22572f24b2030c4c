#include "coordinator/schedule/queue/scheduler.h"

#include <atomic>
#include <future>
#include <random>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/schedule/pages/capacity.h"
#include "tests/coordinator/schedule/queue/scheduler_bench.h"

namespace scorecast::coordinator {
namespace scheduler_test {

using proto::PackedSequence;
using proto::PlanLimits;
using proto::SegmentKind;
using ::testing::ElementsAre;
using Pass = SchedulerBench::Pass;

constexpr PlanLimits kLimits{
    .max_rows = 32, .max_reads = 16, .pass_kv_rows = 256, .kept_kv_rows = 256};

TEST(Scheduler, ComputesAJobAndAnEmptyOne) {
  SchedulerBench bench(kLimits);
  bench.Score("two prompts", {3, 4}).ExpectComputed();
  bench.Score("empty", {}).ExpectComputed();
  bench.scheduler.WaitIdle();
  EXPECT_EQ(bench.cluster.plans().size(), 1u) << "both prompts in one pass";
}

TEST(Scheduler, PacksWaitingSequencesInOrderAndFillsTheRest) {
  SchedulerBench bench(kLimits);
  bench.cluster.Hold();
  Pending& in_flight = bench.Score("in flight", {3});
  Pending& large = bench.Score("large", {20});
  Pending& large_too = bench.Score("large too", {20});
  Pending& fills_large = bench.Score("fills large", {10, 2});
  Pending& fills_large_too = bench.Score("fills large too", {9});
  bench.cluster.Release();
  ExpectAllComputed({&in_flight, &large, &large_too, &fills_large, &fills_large_too});
  EXPECT_THAT(bench.Passes(),
              ElementsAre(Pass{{"in flight", 3}},
                          Pass{{"large", 20}, {"fills large", 10}, {"fills large", 2}},
                          Pass{{"large too", 20}, {"fills large too", 9}}));
}

/// Jobs of at most a pass have a credit: see FairQueue. A long one fills the rest of their passes.
TEST(Scheduler, ALongSequenceFillsTheRestOfThePassesOfShortOnes) {
  SchedulerBench bench(kLimits);
  bench.cluster.Hold();
  Pending& in_flight = bench.Score("in flight", {1});
  Pending& long_prompt = bench.Score("long", {100});
  Pending& first = bench.Score("first", {20});
  Pending& beside_first = bench.Score("beside first", {10});
  Pending& second = bench.Score("second", {20});
  bench.cluster.Release();
  ExpectAllComputed({&in_flight, &long_prompt, &first, &beside_first, &second});
  EXPECT_THAT(bench.Passes(), ElementsAre(Pass{{"in flight", 1}},
                                          Pass{{"first", 20}, {"beside first", 10}, {"long", 2}},
                                          Pass{{"second", 20}, {"long", 12}}, Pass{{"long", 32}},
                                          Pass{{"long", 32}}, Pass{{"long", 22}}));
}

TEST(Scheduler, AJobOfManyPassesDoesNotHoldBackASmallOne) {
  SchedulerBench bench(kLimits);
  bench.cluster.Hold();
  Pending& many_passes = bench.Score("many passes", {30, 30, 30, 30, 30, 30, 40, 40});
  Pending& small = bench.Score("small", {5});
  bench.cluster.Release();
  many_passes.ExpectComputed();
  small.ExpectComputed();
  const std::vector<Pass> passes = bench.Passes();
  ASSERT_GE(passes.size(), 2u);
  EXPECT_EQ(passes[1], (Pass{{"small", 5}, {"many passes", 27}}))
      << "a prompt of 30 does not fit the rest; one that is longer than a pass has a part there";
}

TEST(Scheduler, AJobBeyondTheQueueIsRefusedAtOnce) {
  SchedulerBench bench(kLimits, {.max_queue = 2});
  bench.cluster.Hold();
  Pending& in_flight = bench.Score("in flight", {20});
  Pending& first = bench.Score("first", {5});
  Pending& second = bench.Score("second", {5, 6});
  const proto::Error error = bench.Score("refused", {5}).Refusal();
  EXPECT_EQ(error.code, 429);
  EXPECT_EQ(error.reason, "queue_full");
  EXPECT_EQ(error.message, "Too many requests wait: 2 of at most 2.");
  ASSERT_TRUE(error.retry_after_seconds.has_value());
  EXPECT_GE(*error.retry_after_seconds, 1);
  bench.cluster.Release();
  in_flight.ExpectComputed();
  first.ExpectComputed();
  second.ExpectComputed();
  bench.Score("later", {5}).ExpectComputed();
}

TEST(Scheduler, CancelledJobsAreDroppedAndNoOthers) {
  SchedulerBench bench(kLimits);
  bench.cluster.Hold();
  Pending& in_flight = bench.Score("in flight", {20});
  Pending& cancelled = bench.Score("cancelled", {5, 5});
  Pending& stays = bench.Score("stays", {5});
  Pending& cancelled_long = bench.Score("cancelled long", {70});
  bench.scheduler.Cancel({cancelled_long.ticket(), Scheduler::kNoTicket, cancelled.ticket()});
  EXPECT_EQ(cancelled.Refusal().code, 499) << "while the pass before it still runs";
  EXPECT_EQ(cancelled_long.Refusal().code, 499);
  bench.scheduler.Cancel({cancelled.ticket(), in_flight.ticket()});
  bench.scheduler.Cancel({});
  bench.cluster.Release();
  in_flight.ExpectComputed();
  stays.ExpectComputed();
  EXPECT_THAT(bench.Passes(), ElementsAre(Pass{{"in flight", 20}}, Pass{{"stays", 5}}));
}

TEST(Scheduler, AJobWithRowsInFlightIsDroppedAfterTheirPass) {
  SchedulerBench bench(kLimits);
  bench.cluster.Hold();
  Pending& long_prompt = bench.Score("long", {70});
  bench.scheduler.Cancel({long_prompt.ticket()});
  EXPECT_FALSE(bench.scheduler.WaitIdleFor(std::chrono::milliseconds(1)));
  bench.cluster.Release();
  EXPECT_EQ(long_prompt.Refusal().code, 499);
  bench.scheduler.WaitIdle();
  EXPECT_THAT(bench.Passes(), ElementsAre(Pass{{"long", 32}}));
}

TEST(Scheduler, NothingIsComputedBeyondThePassInFlight) {
  SchedulerBench bench(kLimits);
  bench.cluster.Hold();
  Pending& in_flight = bench.Score("in flight", {32});
  Pending& queued = bench.Score("queued", {5, 5});
  bench.scheduler.StopAfterPass();
  const proto::Error error = queued.Refusal();
  EXPECT_EQ(error.code, 503) << "while the pass before it still runs";
  EXPECT_EQ(error.reason, "draining");
  EXPECT_EQ(bench.Score("late", {1}).Refusal().reason, "draining");
  bench.cluster.Release();
  in_flight.ExpectComputed();
  bench.scheduler.WaitIdle();
  EXPECT_EQ(bench.Score("later", {1}).Refusal().reason, "draining");
  EXPECT_THAT(bench.Passes(), ElementsAre(Pass{{"in flight", 32}}));
}

TEST(Scheduler, AJobThatNeedsMoreThanThePassInFlightEndsWithIt) {
  SchedulerBench bench(kLimits);
  bench.cluster.Hold();
  Pending& long_prompt = bench.Score("long", {70});
  bench.scheduler.StopAfterPass();
  EXPECT_FALSE(bench.scheduler.WaitIdleFor(std::chrono::milliseconds(1)));
  bench.cluster.Release();
  EXPECT_EQ(long_prompt.Refusal().reason, "draining");
  bench.scheduler.WaitIdle();
  EXPECT_THAT(bench.Passes(), ElementsAre(Pass{{"long", 32}}));
}

TEST(Scheduler, DoneMaySubmit) {
  SchedulerBench bench(kLimits);
  Scheduler& scheduler = bench.scheduler;
  std::promise<void> second_done;
  scheduler.Submit({.sequences = {ScoredPrompt(3, 10)}, .done = [&](JobResult) {
                      scheduler.Submit({.sequences = {ScoredPrompt(4, 11)},
                                        .done = [&](JobResult) { second_done.set_value(); }});
                    }});
  second_done.get_future().wait();
}

TEST(Scheduler, WaitForRoomReturnsWhenPassesHaveBeenComputed) {
  SchedulerBench bench(kLimits);
  bench.scheduler.WaitForRoom();
  bench.cluster.Hold();
  std::atomic<int> done = 0;
  for (int i = 0; i < 20; ++i) {
    bench.scheduler.Submit(
        {.sequences = {ScoredPrompt(32, 10)}, .done = [&](JobResult) { ++done; }});
  }
  std::thread release([&] { bench.cluster.Release(); });
  bench.scheduler.WaitForRoom();
  EXPECT_GE(done, 1);
  release.join();
  bench.scheduler.WaitIdle();
  EXPECT_EQ(done, 20);
}

/// A random sequence of a prefix, blocks and suffixes, with reads in any order.
PackedSequence RandomSequence(std::mt19937& random) {
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution(low, high)(random);
  };
  PackedSequence sequence;
  const int prefix = pick(1, pick(0, 3) == 0 ? 150 : 12);
  sequence.segments.push_back({SegmentKind::kPrefix, prefix, 0});
  int longest = 0;
  for (int blocks = pick(0, 6); blocks > 0; --blocks) {
    const int length = pick(1, pick(0, 5) == 0 ? 40 : 8);
    longest = std::max(longest, length);
    sequence.segments.push_back({SegmentKind::kBlock, length, prefix});
  }
  for (int suffixes = pick(-2, 2); suffixes > 0; --suffixes) {
    sequence.segments.push_back({SegmentKind::kSuffix, pick(1, 9), prefix + longest});
  }
  int rows = 0;
  for (const auto& segment : sequence.segments) {
    rows += segment.length;
  }
  for (int i = 0; i < rows; ++i) {
    sequence.tokens.push_back(pick(0, kVocabSize - 1));
  }
  sequence.label_lists = {{pick(0, 30), pick(31, 60)}, {61, 3, 7}};
  for (int reads = pick(1, 9); reads > 0; --reads) {
    const bool normalizer = pick(0, 1) == 1;
    sequence.reads.push_back(
        {pick(0, rows - 1), pick(0, 1), normalizer, normalizer ? pick(0, 4) : 0});
  }
  return sequence;
}

/// FakeCluster aborts on a plan that breaks a limit or reads K/V that is not stored.
TEST(Scheduler, RandomJobsFromManyThreadsAreEachDoneOnceAndRight) {
  std::mt19937 seeds(20260901);
  for (int round = 0; round < 30; ++round) {
    const auto pick = [&](int low, int high) {
      return std::uniform_int_distribution(low, high)(seeds);
    };
    const PlanLimits limits{.max_rows = pick(1, 64),
                            .max_reads = pick(2, 20),
                            .pass_kv_rows = 16 * pick(1, 16),
                            .kept_kv_rows = 16 * pick(1, 24)};
    SchedulerBench bench(limits);
    std::atomic<int> submitted = 0;
    std::atomic<int> done = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, seed = seeds()] {
        std::mt19937 random(seed);
        for (int j = 0; j < 12; ++j) {
          Request request;
          for (int s = std::uniform_int_distribution(0, 5)(random); s > 0; --s) {
            PackedSequence sequence = RandomSequence(random);
            if (!CapacityFault(sequence, limits)) {
              request.sequences.push_back(std::move(sequence));
            }
          }
          ++submitted;
          bench.scheduler.Submit(request.MakeJob([&done, request](JobResult result) {
            ++done;
            ExpectResult(request, result);
          }));
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    bench.scheduler.WaitIdle();
    EXPECT_EQ(done, submitted);
  }
}

}  // namespace scheduler_test
}  // namespace scorecast::coordinator

// Scheduler when pages are short, and when completions are dropped before their end.

#include <memory>
#include <random>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/coordinator/schedule/queue/scheduler_bench.h"
#include "tests/coordinator/schedule/sample_requests.h"

namespace scorecast::coordinator {
namespace scheduler_pages_test {

using proto::PlanLimits;

PlanLimits WithPages(std::int32_t pages) {
  return {.max_rows = 32, .max_reads = 64, .pass_kv_rows = 512, .kept_kv_rows = pages * 64};
}

TEST(SchedulerPages, TheYoungestIsPreemptedAndComputedAgain) {
  SchedulerBench bench(WithPages(6));
  bench.cluster.Hold();
  // Each completion needs two pages at first, and five in the end.
  Pending oldest(bench.scheduler, PlainRequest(Text(1, 3), {250}));
  Pending youngest(bench.scheduler, PlainRequest(Text(2, 3), {250}));
  bench.cluster.Release();
  oldest.ExpectComputed();
  youngest.ExpectComputed();
  bench.scheduler.WaitIdle();
  EXPECT_LT(oldest.finished(), youngest.finished());
  std::size_t computed = 0;
  for (const auto& plan : bench.cluster.plans()) {
    computed += plan.tokens.size();
  }
  EXPECT_GT(computed, 600u) << "the youngest was computed again";
  bench.ExpectAllPagesAreFree();
}

TEST(SchedulerPages, CompletionsThatPreemptEachOtherStillMakeProgress) {
  for (const std::int32_t cached_pages : {0, 5}) {
    SchedulerBench bench(WithPages(5), {.cached_pages = cached_pages});
    bench.cluster.Hold();
    ManyPending completions;
    for (int i = 0; i < 12; ++i) {
      completions.emplace_back(bench.scheduler, PlainRequest(Text(i, 3), {200}));
    }
    bench.cluster.Release();
    for (Pending& completion : completions) {
      completion.ExpectComputed();
    }
    bench.scheduler.WaitIdle();
    // One after the other, the completions would take at most 12 x 200 x 1.5 passes, since Greedy
    // reads about one row in five twice. Each is preempted at most once for each page of those
    // before it, and its rows are then computed again, 32 in a pass.
    EXPECT_LE(bench.cluster.plans().size(), 12u * 200 * 3 / 2 + 12 * 5 * (200 / 32 + 1));
    bench.ExpectAllPagesAreFree();
  }
}

TEST(SchedulerPages, ALongScoreAndALongPromptBeginInOrderOfArrival) {
  SchedulerBench bench(WithPages(4));
  HeldCompletion completion(bench, /*tokens=*/60, /*held_after=*/5);
  completion.WaitUntilHeld();
  Pending& long_score = bench.Score("long score", {200});
  Pending long_prompt(bench.scheduler, PlainRequest(Text(8, 150), {30}));
  Pending& longest_score = bench.Score("longest score", {256});
  ManyPending small;  // Pages for each of these become free long before pages for the others.
  for (int i = 0; i < 10; ++i) {
    small.emplace_back(bench.scheduler, PlainRequest(Text(i, 3), {30}));
  }
  bench.cluster.Release();
  ExpectAllComputed({&completion, &long_score, &long_prompt, &longest_score});
  EXPECT_LT(completion.finished(), long_score.finished());
  EXPECT_LT(long_score.finished(), long_prompt.finished());
  EXPECT_LT(long_prompt.finished(), longest_score.finished());
  for (Pending& pending : small) {
    pending.ExpectComputed();
    EXPECT_LT(long_score.finished(), pending.finished());
  }
  bench.ExpectAllPagesAreFree();
}

TEST(SchedulerPages, ACancelledCompletionGivesItsPagesBack) {
  for (const std::int32_t cached_pages : {0, 10}) {
    SchedulerBench bench(WithPages(10), {.cached_pages = cached_pages});
    HeldCompletion cancelled(bench, /*tokens=*/100, /*held_after=*/5);
    cancelled.WaitUntilHeld();
    Pending stays(bench.scheduler, PlainRequest(Text(2, 70), {20}));
    bench.scheduler.Cancel({cancelled.ticket()});
    bench.cluster.Release();
    EXPECT_EQ(cancelled.Refusal().code, 499);
    stays.ExpectComputed();
    bench.scheduler.WaitIdle();
    EXPECT_LT(bench.cluster.plans().size(), 80u) << "not computed to its end";
    bench.ExpectAllPagesAreFree();
  }
}

TEST(SchedulerPages, ACompletionCancelledDuringItsPromptIsDroppedAfterThatPass) {
  SchedulerBench bench(WithPages(10), {.cached_pages = 3});
  bench.cluster.Hold();
  Pending cancelled(bench.scheduler, PlainRequest(Text(1, 20), {100}));
  bench.scheduler.Cancel({cancelled.ticket()});
  bench.cluster.Release();
  EXPECT_EQ(cancelled.Refusal().code, 499);
  bench.scheduler.WaitIdle();
  EXPECT_EQ(bench.cluster.plans().size(), 1u);
  bench.ExpectAllPagesAreFree();
}

TEST(SchedulerPages, RunningCompletionsAreDroppedAfterTheirStep) {
  SchedulerBench bench(WithPages(10), {.cached_pages = 3});
  HeldCompletion completion(bench, /*tokens=*/100, /*held_after=*/5);
  completion.WaitUntilHeld();
  Pending waiting(bench.scheduler, PlainRequest(Text(2, 70), {20}));
  bench.scheduler.Cancel({completion.ticket(), waiting.ticket()});
  EXPECT_EQ(waiting.Refusal().code, 499);
  bench.cluster.Release();
  EXPECT_EQ(completion.Refusal().code, 499);
  bench.scheduler.WaitIdle();
  EXPECT_EQ(bench.cluster.plans().size(), completion.passes_when_held());
  bench.ExpectAllPagesAreFree();
}

TEST(SchedulerPages, TheQueueCountsJobsThatWaitForTheirFirstPass) {
  SchedulerBench bench(WithPages(3), {.max_queue = 2});
  HeldCompletion completion(bench, /*tokens=*/60, /*held_after=*/5);
  completion.WaitUntilHeld();
  Pending queued(bench.scheduler, PlainRequest(Text(1, 3), {5}));
  Pending queued_too(bench.scheduler, PlainRequest(Text(2, 3), {5}));
  Pending refused(bench.scheduler, PlainRequest(Text(3, 3), {5}));
  EXPECT_EQ(refused.Refusal().code, 429);
  bench.cluster.Release();
  ExpectAllComputed({&completion, &queued, &queued_too});
  bench.ExpectAllPagesAreFree();
}

TEST(SchedulerPages, JobsThatAreCancelledAnywhereLeaveNoPageBehind) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 20; ++round) {
    const PlanLimits limits = WithPages(std::uniform_int_distribution(8, 30)(random));
    SchedulerBench bench(limits, {.cached_pages = round % 3 == 0 ? 0 : 8});
    RequestMaker maker(random(), limits);
    ManyPending jobs;
    for (int i = 0; i < 40; ++i) {
      jobs.emplace_back(bench.scheduler, maker.Make());
      if (i % 2 == 1) {
        std::vector<Scheduler::Ticket> tickets;
        for (int n = 0; n < 3; ++n) {
          tickets.push_back(jobs[random() % jobs.size()].ticket());
        }
        bench.scheduler.Cancel(tickets);
      }
    }
    for (Pending& job : jobs) {
      job.ExpectComputedOrCancelled();
    }
    bench.ExpectAllPagesAreFree();
  }
}

}  // namespace scheduler_pages_test
}  // namespace scorecast::coordinator

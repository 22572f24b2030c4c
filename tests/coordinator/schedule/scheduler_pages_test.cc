// Scheduler when pages are short, and when answers end before their time.

#include <memory>
#include <random>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/schedule/scheduler.h"
#include "tests/coordinator/fake_cluster.h"
#include "tests/coordinator/schedule/pending_requests.h"
#include "tests/coordinator/schedule/sample_requests.h"

namespace scorecast::coordinator {
namespace {

using proto::PlanLimits;

PlanLimits WithPages(std::int32_t pages) {
  return {.max_rows = 32, .max_reads = 64, .pass_kv_rows = 512, .kept_kv_rows = pages * 64};
}

TEST(SchedulerPages, TheYoungestGivesItsPagesBackAndIsComputedAgain) {
  FakeCluster cluster(WithPages(6), kVocabSize);
  Scheduler scheduler(cluster);
  cluster.Hold();
  // Two pages each at first, and five in the end.
  Pending oldest(scheduler, PlainRequest(Text(1, 3), {250}));
  Pending youngest(scheduler, PlainRequest(Text(2, 3), {250}));
  cluster.Release();
  oldest.ExpectAnswer();
  youngest.ExpectAnswer();
  scheduler.WaitIdle();
  EXPECT_LT(oldest.finished(), youngest.finished());
  std::size_t computed = 0;
  for (const auto& plan : cluster.plans()) {
    computed += plan.tokens.size();
  }
  EXPECT_GT(computed, 600u) << "the youngest was computed again";
  ExpectAllPagesAreFree(scheduler);
}

TEST(SchedulerPages, AnswersThatCrowdEachOtherOutStillMakeProgress) {
  for (const std::int32_t cached_pages : {0, 5}) {
    FakeCluster cluster(WithPages(5), kVocabSize);
    Scheduler scheduler(cluster, {.cached_pages = cached_pages});
    cluster.Hold();
    ManyPending answers;
    for (int i = 0; i < 12; ++i) {
      answers.push_back(std::make_unique<Pending>(scheduler, PlainRequest(Text(i, 3), {200})));
    }
    cluster.Release();
    for (const auto& answer : answers) {
      answer->ExpectAnswer();
    }
    scheduler.WaitIdle();
    // Greedy reads a row in five or so twice; and alone, one after the other, they would take
    // 12 x 200 x 1.5 passes at most. None is begun in vain more than once for each page of those
    // before it, and is then computed 32 rows at a time.
    EXPECT_LE(cluster.plans().size(), 12u * 200 * 3 / 2 + 12 * 5 * (200 / 32 + 1));
    ExpectAllPagesAreFree(scheduler);
  }
}

TEST(SchedulerPages, ALongScoreAndALongPromptBeginInOrderOfArrival) {
  FakeCluster cluster(WithPages(4), kVocabSize);
  Scheduler scheduler(cluster);
  HeldAnswer first(cluster, 60, 5);
  Pending answer(scheduler, first.request);
  first.chooser->WaitUntilHeld();
  Pending score(scheduler, Score(200, 62));
  Pending prompt(scheduler, PlainRequest(Text(8, 150), {30}));
  Pending score_too(scheduler, Score(256, 61));
  ManyPending small;  // Each would find its pages long before the others find theirs.
  for (int i = 0; i < 10; ++i) {
    small.push_back(std::make_unique<Pending>(scheduler, PlainRequest(Text(i, 3), {30})));
  }
  cluster.Release();
  for (Pending* pending : {&answer, &score, &prompt, &score_too}) {
    pending->ExpectAnswer();
  }
  EXPECT_LT(answer.finished(), score.finished());
  EXPECT_LT(score.finished(), prompt.finished());
  EXPECT_LT(prompt.finished(), score_too.finished());
  for (const auto& pending : small) {
    pending->ExpectAnswer();
    EXPECT_LT(score.finished(), pending->finished());
  }
  scheduler.WaitIdle();
  ExpectAllPagesAreFree(scheduler);
}

TEST(SchedulerPages, AnAnswerWhoseClientLeavesGivesItsPagesBack) {
  for (const std::int32_t cached_pages : {0, 10}) {
    FakeCluster cluster(WithPages(10), kVocabSize);
    Scheduler scheduler(cluster, {.cached_pages = cached_pages});
    HeldAnswer first(cluster, 100, 5);
    Pending left(scheduler, first.request);
    first.chooser->WaitUntilHeld();
    Pending stays(scheduler, PlainRequest(Text(2, 70), {20}));
    scheduler.Cancel({left.ticket()});
    cluster.Release();
    EXPECT_EQ(left.RefusalCode(), 499);
    stays.ExpectAnswer();
    scheduler.WaitIdle();
    EXPECT_LT(cluster.plans().size(), 80u) << "not to its end";
    ExpectAllPagesAreFree(scheduler);
  }
}

TEST(SchedulerPages, AnAnswerWhosePromptIsBeingComputedIsDroppedBehindIt) {
  FakeCluster cluster(WithPages(10), kVocabSize);
  Scheduler scheduler(cluster, {.cached_pages = 3});
  cluster.Hold();
  Pending left(scheduler, PlainRequest(Text(1, 20), {100}));
  scheduler.Cancel({left.ticket()});
  cluster.Release();
  EXPECT_EQ(left.RefusalCode(), 499);
  scheduler.WaitIdle();
  EXPECT_EQ(cluster.plans().size(), 1u);
  ExpectAllPagesAreFree(scheduler);
}

TEST(SchedulerPages, ADeadlineMayPassInTheMiddleOfAnAnswer) {
  FakeCluster cluster(WithPages(10), kVocabSize);
  Scheduler scheduler(cluster, {.cached_pages = 3});
  HeldAnswer first(cluster, 100, 5);
  const auto soon = Clock::now() + std::chrono::seconds(5);  // Its first steps are done by then.
  Pending late(scheduler, first.request, soon);
  first.chooser->WaitUntilHeld();
  std::this_thread::sleep_until(soon);
  cluster.Release();
  EXPECT_EQ(late.RefusalCode(), 504);
  scheduler.WaitIdle();
  EXPECT_EQ(cluster.plans().size(), first.passes);
  ExpectAllPagesAreFree(scheduler);
}

TEST(SchedulerPages, DrainingRefusesAnswersInProgressWhenTheirStepIsBack) {
  FakeCluster cluster(WithPages(10), kVocabSize);
  Scheduler scheduler(cluster, {.cached_pages = 3});
  HeldAnswer first(cluster, 100, 5);
  Pending answer(scheduler, first.request);
  first.chooser->WaitUntilHeld();
  Pending waiting(scheduler, PlainRequest(Text(2, 70), {20}));
  scheduler.RefuseWaiting();
  EXPECT_EQ(waiting.RefusalCode(), 503);
  cluster.Release();
  EXPECT_EQ(answer.RefusalCode(), 503);
  scheduler.WaitIdle();
  EXPECT_EQ(cluster.plans().size(), first.passes);
  ExpectAllPagesAreFree(scheduler);
}

TEST(SchedulerPages, TheQueueCountsThoseOfWhichNothingWasComputed) {
  FakeCluster cluster(WithPages(3), kVocabSize);
  Scheduler scheduler(cluster, {.max_queue = 2});
  HeldAnswer first(cluster, 60, 5);
  Pending answer(scheduler, first.request);
  first.chooser->WaitUntilHeld();
  Pending a(scheduler, PlainRequest(Text(1, 3), {5}));
  Pending b(scheduler, PlainRequest(Text(2, 3), {5}));
  Pending refused(scheduler, PlainRequest(Text(3, 3), {5}));
  EXPECT_EQ(refused.RefusalCode(), 429);
  cluster.Release();
  for (Pending* pending : {&answer, &a, &b}) {
    pending->ExpectAnswer();
  }
  scheduler.WaitIdle();
  ExpectAllPagesAreFree(scheduler);
}

TEST(SchedulerPages, JobsThatAreCancelledAnywhereLeaveNoPageBehind) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 20; ++round) {
    const PlanLimits limits = WithPages(std::uniform_int_distribution(8, 30)(random));
    FakeCluster cluster(limits, kVocabSize);
    Scheduler scheduler(cluster, {.cached_pages = round % 3 == 0 ? 0 : 8});
    RequestMaker maker(random(), limits);
    ManyPending jobs;
    for (int i = 0; i < 40; ++i) {
      jobs.push_back(std::make_unique<Pending>(scheduler, maker.Make()));
      if (i % 2 == 1) {
        std::vector<Scheduler::Ticket> tickets;
        for (int n = 0; n < 3; ++n) {
          tickets.push_back(jobs[random() % jobs.size()]->ticket());
        }
        scheduler.Cancel(tickets);
      }
    }
    for (const auto& job : jobs) {
      job->ExpectAnswerOrCancelled();
    }
    scheduler.WaitIdle();
    ExpectAllPagesAreFree(scheduler);
  }
}

}  // namespace
}  // namespace scorecast::coordinator

// Scheduler with answers that are generated: who is computed when, and what becomes of the pages.

#include <algorithm>
#include <memory>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/schedule/scheduler.h"
#include "tests/coordinator/fake_cluster.h"
#include "tests/coordinator/schedule/pending_requests.h"
#include "tests/coordinator/schedule/sample_requests.h"

namespace scorecast::coordinator {
namespace {

using proto::PackedSequence;
using proto::PlanLimits;
using ::testing::Each;

constexpr PlanLimits kLimits{
    .max_rows = 32, .max_reads = 64, .pass_kv_rows = 512, .kept_kv_rows = 64 * 64};

TEST(SchedulerCompletions, AnswersAreThoseOfTheSequenceAlone) {
  FakeCluster cluster(kLimits, kVocabSize);
  Scheduler scheduler(cluster);
  Pending plain(scheduler, PlainRequest(Text(1, 10), {70}));
  Pending chunked(scheduler, ChunksRequest(Text(2, 5), {Text(3, 80), Text(4, 7)},
                                           {Text(5, 3), Text(6, 4)}, /*answer_tokens=*/20));
  Pending without_prefix(scheduler, ChunksRequest({}, {Text(3, 8)}, {Text(5, 3)}, 5));
  for (Pending* pending : {&plain, &chunked, &without_prefix}) {
    pending->ExpectAnswer();
  }
  scheduler.WaitIdle();
  ExpectAllPagesAreFree(scheduler);
}

TEST(SchedulerCompletions, OneTokenNeedsNoRowOfItsOwn) {
  FakeCluster cluster(kLimits, kVocabSize);
  Scheduler scheduler(cluster);
  Request request = PlainRequest({7, 8, 9}, {1});
  while (ExpectedTokens(request.sequences[0], 1, 1)[0] % 5 == 0) {
    request.sequences[0].tokens[0] += 1;  // One that Greedy does not read twice.
  }
  Pending(scheduler, request).ExpectAnswer();
  scheduler.WaitIdle();
  ASSERT_EQ(cluster.plans().size(), 1u);
  EXPECT_EQ(cluster.plans()[0].tokens.size(), 3u);
}

TEST(SchedulerCompletions, SeveralAnswersBeginBehindTheSamePlainPrompt) {
  for (const int prompt : {5, 64, 100}) {
    FakeCluster cluster(kLimits, kVocabSize);
    Scheduler scheduler(cluster, {.cached_pages = 20});
    Pending(scheduler, PlainRequest(Text(1, prompt), {9, 1, 5})).ExpectAnswer();
    Pending(scheduler, PlainRequest(Text(1, prompt), {3, 3})).ExpectAnswer();
    scheduler.WaitIdle();
    ExpectAllPagesAreFree(scheduler);
  }
}

TEST(SchedulerCompletions, AnswersJoinAndLeaveBetweenSteps) {
  FakeCluster cluster(kLimits, kVocabSize);
  Scheduler scheduler(cluster);
  HeldAnswer first(cluster, 40, 10);
  Pending a(scheduler, first.request);
  first.chooser->WaitUntilHeld();
  Pending b(scheduler, PlainRequest(Text(2, 4), {6}));
  Pending c(scheduler, ChunksRequest(Text(3, 4), {Text(4, 4)}, {Text(5, 2)}, 12));
  cluster.Release();
  b.ExpectAnswer();
  c.ExpectAnswer();
  a.ExpectAnswer();
  scheduler.WaitIdle();
  const auto plans = cluster.plans();
  ASSERT_GT(plans.size(), first.passes + 2);
  EXPECT_EQ(plans[first.passes].tokens.size(), 1u + 4 + 10)
      << "a step of one with the others' prompts";
  EXPECT_EQ(plans[first.passes + 1].tokens.size(), 3u) << "a step of all three";
  EXPECT_EQ(plans.back().tokens.size(), 1u);
}

TEST(SchedulerCompletions, ASequenceOfWhichNothingIsReadIsComputedEachTime) {
  FakeCluster cluster(kLimits, kVocabSize);
  Scheduler scheduler(cluster, {.cached_pages = 20});
  for (const int rows : {30, 64, 100}) {
    Request request = Score(rows, 5);
    request.sequences[0].reads.clear();
    for (int time = 0; time < 3; ++time) {
      Pending(scheduler, request).ExpectAnswer();
      scheduler.WaitIdle();
    }
  }
}

TEST(SchedulerCompletions, TakeHalfOfAPassAtMostWhileOthersWait) {
  FakeCluster cluster(kLimits, kVocabSize);
  Scheduler scheduler(cluster);
  cluster.Hold();
  HeldAnswer first(cluster, 60, 10);
  Pending held(scheduler, first.request);
  ManyPending answers;
  for (int i = 0; i < 30; ++i) {
    answers.push_back(std::make_unique<Pending>(scheduler, PlainRequest({10}, {60})));
  }
  cluster.Release();
  first.chooser->WaitUntilHeld();
  // A flood of what fits halves.
  ManyPending scores;
  for (int i = 0; i < 20; ++i) {
    scores.push_back(std::make_unique<Pending>(scheduler, Score(8, 62)));
  }
  cluster.Release();
  for (const auto& score : scores) {
    score->ExpectAnswer();
  }
  const auto plans = cluster.plans();
  std::vector<std::ptrdiff_t> shares;
  for (auto i = static_cast<std::size_t>(PassOf(cluster, 62, 8));
       i < plans.size() && shares.size() < 10; ++i) {
    shares.push_back(static_cast<std::ptrdiff_t>(plans[i].tokens.size()) -
                     std::count(plans[i].tokens.begin(), plans[i].tokens.end(), 62) / 8 * 8);
  }
  ASSERT_EQ(shares.size(), 10u) << "two scores in each pass";
  EXPECT_THAT(shares, Each(16));
  for (const auto& answer : answers) {
    answer->ExpectAnswer();
  }
  held.ExpectAnswer();
  scheduler.WaitIdle();
}

TEST(SchedulerCompletions, DoNotKeepOutAScoreThatFillsAPass) {
  FakeCluster cluster(kLimits, kVocabSize);
  Scheduler scheduler(cluster);
  HeldAnswer first(cluster, 300, 5);
  Pending answer(scheduler, first.request);
  first.chooser->WaitUntilHeld();
  Pending full(scheduler, Score(32, 62));
  Pending small(scheduler, Score(5, 61));
  cluster.Release();
  full.ExpectAnswer();
  small.ExpectAnswer();
  const std::ptrdiff_t computed =
      PassOf(cluster, 62, 32) - static_cast<std::ptrdiff_t>(first.passes);
  EXPECT_EQ(computed, 1) << "the answer goes first in the pass before it";
  answer.ExpectAnswer();
  scheduler.WaitIdle();
}

TEST(SchedulerCompletions, DoNotKeepOutScoresThatFillPassesNorALongOneBesideThem) {
  FakeCluster cluster(kLimits, kVocabSize);
  Scheduler scheduler(cluster);
  HeldAnswer first(cluster, 300, 5);
  Pending answer(scheduler, first.request);
  first.chooser->WaitUntilHeld();
  Pending longest(scheduler, ItemsRequest(Text(1, 4), {Text(2, 32), Text(3, 32), Text(4, 32)}));
  Pending full(scheduler, Score(32, 62));
  Pending full_too(scheduler, Score(31, 61));
  Pending longest_too(scheduler, Score(320, 60));
  cluster.Release();
  for (Pending* pending : {&longest, &full, &full_too, &longest_too}) {
    pending->ExpectAnswer();
  }
  // Five passes for the items and the prompts that fill them, ten for the long prompt, and as many
  // that the answer led.
  answer.ExpectAnswer();
  EXPECT_LE(LastPassOf(cluster, 60, 2),
            static_cast<std::ptrdiff_t>(first.passes) + 2 * (4 + 2 + 10) + 2);
  scheduler.WaitIdle();
}

TEST(SchedulerCompletions, GoOnWhileScoresFillPasses) {
  FakeCluster cluster(kLimits, kVocabSize);
  Scheduler scheduler(cluster);
  HeldAnswer first(cluster, 10, 2);
  Pending answer(scheduler, first.request);
  first.chooser->WaitUntilHeld();
  ManyPending scores;
  for (int i = 0; i < 60; ++i) {
    scores.push_back(std::make_unique<Pending>(scheduler, Score(32, 62)));
  }
  cluster.Release();
  answer.ExpectAnswer();
  scores.back()->ExpectAnswer();
  EXPECT_LT(answer.finished(), scores.back()->finished()) << "every second pass is the answer's";
  scheduler.WaitIdle();
}

TEST(SchedulerCompletions, GoOnInPassesOfOneRow) {
  FakeCluster cluster({.max_rows = 1, .max_reads = 2, .pass_kv_rows = 16, .kept_kv_rows = 640},
                      kVocabSize);
  Scheduler scheduler(cluster);
  Request request = PlainRequest(Text(2, 3), {4});
  const auto chooser =
      std::make_shared<HoldingChooser>(request.choosers.front(), cluster, /*takes=*/1);
  request.generations.front().chooser = chooser;
  Pending answer(scheduler, request);
  chooser->WaitUntilHeld();
  ManyPending scores;
  for (int i = 0; i < 60; ++i) {
    scores.push_back(std::make_unique<Pending>(scheduler, Score(1, 62)));
  }
  cluster.Release();
  answer.ExpectAnswer();
  scores.back()->ExpectAnswer();
  EXPECT_LT(answer.finished(), scores.back()->finished());
  scheduler.WaitIdle();
}

/// An answer to a plain prompt takes two of them.
constexpr PlanLimits kThreePages{
    .max_rows = 32, .max_reads = 64, .pass_kv_rows = 512, .kept_kv_rows = 3 * 64};

TEST(SchedulerCompletions, ThoseThatWaitForPagesDoNotHoldUpScores) {
  FakeCluster cluster(kThreePages, kVocabSize);
  Scheduler scheduler(cluster, {.cached_pages = 1});
  HeldAnswer first(cluster, 60, 5);
  Pending answer(scheduler, first.request);
  first.chooser->WaitUntilHeld();
  ManyPending waiting;
  for (int i = 0; i < 40; ++i) {  // More than are looked up for a pass.
    waiting.push_back(std::make_unique<Pending>(scheduler, PlainRequest(Text(i, 2), {2})));
  }
  Pending score(scheduler, Score(30, 62));
  Pending score_in_parts(scheduler,
                         {.sequences = {Score(30, 61).sequences[0], Score(30, 61).sequences[0]}});
  cluster.Release();
  score.ExpectAnswer();
  score_in_parts.ExpectAnswer();
  answer.ExpectAnswer();
  EXPECT_LT(score.finished(), answer.finished());
  EXPECT_LT(score_in_parts.finished(), answer.finished());
  for (const auto& pending : waiting) {
    pending->ExpectAnswer();
    EXPECT_LT(answer.finished(), pending->finished());
  }
  scheduler.WaitIdle();
  ExpectAllPagesAreFree(scheduler);
}

TEST(SchedulerCompletions, ALongPromptThatWaitsForPagesDoesNotHoldUpScoresThatNeedNone) {
  FakeCluster cluster(kThreePages, kVocabSize);
  Scheduler scheduler(cluster);
  HeldAnswer first(cluster, 60, 5);
  Pending answer(scheduler, first.request);
  first.chooser->WaitUntilHeld();
  Pending waiting(scheduler, PlainRequest(Text(8, 100), {2}));
  Pending waiting_too(scheduler, Score(150, 60));
  std::vector<PackedSequence> many(6, Score(30, 61).sequences[0]);
  Pending scores(scheduler, {.sequences = many});
  cluster.Release();
  scores.ExpectAnswer();
  for (Pending* pending : {&answer, &waiting, &waiting_too}) {
    pending->ExpectAnswer();
  }
  EXPECT_LT(scores.finished(), answer.finished());
  EXPECT_LT(answer.finished(), waiting.finished());
  EXPECT_LT(waiting.finished(), waiting_too.finished());
  scheduler.WaitIdle();
  ExpectAllPagesAreFree(scheduler);
}

}  // namespace
}  // namespace scorecast::coordinator

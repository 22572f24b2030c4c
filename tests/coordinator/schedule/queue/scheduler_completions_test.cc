// Scheduler with completions: what each pass computes, and what waits for pages.

#include <algorithm>
#include <memory>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/coordinator/schedule/queue/scheduler_bench.h"
#include "tests/coordinator/schedule/sample_requests.h"

namespace scorecast::coordinator {
namespace scheduler_completions_test {

using proto::PackedSequence;
using proto::PlanLimits;
using ::testing::Each;

constexpr PlanLimits kLimits{
    .max_rows = 32, .max_reads = 64, .pass_kv_rows = 512, .kept_kv_rows = 64 * 64};

TEST(SchedulerCompletions, AreTheSameAsIfTheSequenceWereAlone) {
  SchedulerBench bench(kLimits);
  Pending plain(bench.scheduler, PlainRequest(Text(1, 10), {70}));
  Pending chunked(bench.scheduler,
                  ChunksRequest(Text(2, 5), {Text(3, 80), Text(4, 7)}, {Text(5, 3), Text(6, 4)},
                                /*completion_tokens=*/20));
  Pending without_prefix(bench.scheduler, ChunksRequest({}, {Text(3, 8)}, {Text(5, 3)}, 5));
  ExpectAllComputed({&plain, &chunked, &without_prefix});
  bench.ExpectAllPagesAreFree();
}

TEST(SchedulerCompletions, OfOneTokenNeedNoFurtherRow) {
  SchedulerBench bench(kLimits);
  Request request = PlainRequest({7, 8, 9}, {1});
  while (ExpectedTokens(request.sequences[0], 1, 1)[0] % 5 == 0) {
    request.sequences[0].tokens[0] += 1;  // Changes the row until Greedy reads it only once.
  }
  Pending(bench.scheduler, request).ExpectComputed();
  bench.scheduler.WaitIdle();
  ASSERT_EQ(bench.cluster.plans().size(), 1u);
  EXPECT_EQ(bench.cluster.plans()[0].tokens.size(), 3u);
}

TEST(SchedulerCompletions, OfOnePlainPromptBeginAfterTheSameRow) {
  for (const int prompt : {5, 64, 100}) {
    SchedulerBench bench(kLimits, {.cached_pages = 20});
    Pending(bench.scheduler, PlainRequest(Text(1, prompt), {9, 1, 5})).ExpectComputed();
    Pending(bench.scheduler, PlainRequest(Text(1, prompt), {3, 3})).ExpectComputed();
    bench.ExpectAllPagesAreFree();
  }
}

TEST(SchedulerCompletions, JoinAndLeaveBetweenSteps) {
  SchedulerBench bench(kLimits);
  HeldCompletion running(bench, /*tokens=*/40, /*held_after=*/10);
  running.WaitUntilHeld();
  Pending plain(bench.scheduler, PlainRequest(Text(2, 4), {6}));
  Pending chunked(bench.scheduler, ChunksRequest(Text(3, 4), {Text(4, 4)}, {Text(5, 2)}, 12));
  bench.cluster.Release();
  plain.ExpectComputed();
  chunked.ExpectComputed();
  running.ExpectComputed();
  bench.scheduler.WaitIdle();
  const auto plans = bench.cluster.plans();
  const std::size_t held = running.passes_when_held();
  ASSERT_GT(plans.size(), held + 2);
  EXPECT_EQ(plans[held].tokens.size(), 1u + 4 + 10) << "a step of one, and the others' prompts";
  EXPECT_EQ(plans[held + 1].tokens.size(), 3u) << "a step of all three";
  EXPECT_EQ(plans.back().tokens.size(), 1u) << "a step of the longest";
}

TEST(SchedulerCompletions, ASequenceWithoutReadsIsComputedEachTime) {
  SchedulerBench bench(kLimits, {.cached_pages = 20});
  for (const int rows : {30, 64, 100}) {
    Request request{.sequences = {ScoredPrompt(rows, 5)}};
    request.sequences[0].reads.clear();
    for (int time = 0; time < 3; ++time) {
      Pending(bench.scheduler, request).ExpectComputed();
      bench.scheduler.WaitIdle();
    }
  }
}

TEST(SchedulerCompletions, TakeAtMostHalfOfAPassWhileOthersWait) {
  SchedulerBench bench(kLimits);
  bench.cluster.Hold();
  HeldCompletion held(bench, /*tokens=*/60, /*held_after=*/10);
  ManyPending completions;
  for (int i = 0; i < 30; ++i) {
    completions.emplace_back(bench.scheduler, PlainRequest({10}, {60}));
  }
  bench.cluster.Release();
  held.WaitUntilHeld();
  // Two of these fit into half a pass.
  std::vector<Pending*> scores;
  for (int i = 0; i < 20; ++i) {
    scores.push_back(&bench.Score("quarter of a pass", {8}));
  }
  bench.cluster.Release();
  for (Pending* score : scores) {
    score->ExpectComputed();
  }
  const auto plans = bench.cluster.plans();
  const auto score_rows = bench.RowsInPasses("quarter of a pass");
  std::vector<std::ptrdiff_t> completion_rows;
  for (auto i = static_cast<std::size_t>(bench.FirstPassWith("quarter of a pass", 8));
       i < plans.size() && completion_rows.size() < 10; ++i) {
    // A few of the generated tokens may equal the token of the scores.
    completion_rows.push_back(static_cast<std::ptrdiff_t>(plans[i].tokens.size()) -
                              score_rows[i] / 8 * 8);
  }
  ASSERT_EQ(completion_rows.size(), 10u) << "two scores in each pass";
  EXPECT_THAT(completion_rows, Each(16));
  for (Pending& completion : completions) {
    completion.ExpectComputed();
  }
  held.ExpectComputed();
}

TEST(SchedulerCompletions, DoNotKeepOutAScoreThatFillsAPass) {
  SchedulerBench bench(kLimits);
  HeldCompletion completion(bench, /*tokens=*/300, /*held_after=*/5);
  completion.WaitUntilHeld();
  Pending& full = bench.Score("full pass", {32});
  Pending& small = bench.Score("small", {5});
  bench.cluster.Release();
  full.ExpectComputed();
  small.ExpectComputed();
  // The completion takes turns with the score in predicted seconds, which follow measured ones. So
  // it may lead one or two passes before the score, but not the 295 that it still needs.
  EXPECT_LE(bench.FirstPassWith("full pass", 32),
            static_cast<std::ptrdiff_t>(completion.passes_when_held()) + 2);
  completion.ExpectComputed();
}

TEST(SchedulerCompletions, KeepOutNeitherScoresThatFillPassesNorLongOnes) {
  SchedulerBench bench(kLimits);
  HeldCompletion completion(bench, /*tokens=*/300, /*held_after=*/5);
  completion.WaitUntilHeld();
  Pending items(bench.scheduler, ItemsRequest(Text(1, 4), {Text(2, 32), Text(3, 32), Text(4, 32)}));
  Pending& full = bench.Score("full pass", {32});
  Pending& almost_full = bench.Score("almost full pass", {31});
  Pending& ten_passes = bench.Score("ten passes", {320});
  bench.cluster.Release();
  ExpectAllComputed({&items, &full, &almost_full, &ten_passes});
  completion.ExpectComputed();
  // Four passes for the items, one for each prompt that fills a pass, ten for the longest prompt,
  // and as many again that the completion leads.
  EXPECT_LE(bench.LastPassWith("ten passes", 2),
            static_cast<std::ptrdiff_t>(completion.passes_when_held()) + 2 * (4 + 2 + 10) + 2);
}

TEST(SchedulerCompletions, GoOnWhileScoresFillPasses) {
  SchedulerBench bench(kLimits);
  HeldCompletion completion(bench, /*tokens=*/10, /*held_after=*/2);
  completion.WaitUntilHeld();
  Pending* last_score = nullptr;
  for (int i = 0; i < 60; ++i) {
    last_score = &bench.Score("full pass", {32});
  }
  bench.cluster.Release();
  completion.ExpectComputed();
  last_score->ExpectComputed();
  EXPECT_LT(completion.finished(), last_score->finished()) << "every second pass has its next row";
}

TEST(SchedulerCompletions, GoOnInPassesOfOneRow) {
  SchedulerBench bench({.max_rows = 1, .max_reads = 2, .pass_kv_rows = 16, .kept_kv_rows = 640});
  HeldCompletion completion(bench, /*tokens=*/4, /*held_after=*/1);
  completion.WaitUntilHeld();
  Pending* last_score = nullptr;
  for (int i = 0; i < 60; ++i) {
    last_score = &bench.Score("full pass", {1});
  }
  bench.cluster.Release();
  completion.ExpectComputed();
  last_score->ExpectComputed();
  EXPECT_LT(completion.finished(), last_score->finished());
}

/// A completion of a plain prompt takes two of the pages.
constexpr PlanLimits kThreePages{
    .max_rows = 32, .max_reads = 64, .pass_kv_rows = 512, .kept_kv_rows = 3 * 64};

TEST(SchedulerCompletions, ThatWaitForPagesDoNotHoldUpScores) {
  SchedulerBench bench(kThreePages, {.cached_pages = 1});
  HeldCompletion completion(bench, /*tokens=*/60, /*held_after=*/5);
  completion.WaitUntilHeld();
  ManyPending waiting;
  for (int i = 0; i < 40; ++i) {  // More than the planner looks up for a pass.
    waiting.emplace_back(bench.scheduler, PlainRequest(Text(i, 2), {2}));
  }
  Pending& score = bench.Score("score", {30});
  Pending score_of_two_passes(bench.scheduler,
                              {.sequences = {ScoredPrompt(30, 61), ScoredPrompt(30, 61)}});
  bench.cluster.Release();
  score.ExpectComputed();
  score_of_two_passes.ExpectComputed();
  completion.ExpectComputed();
  EXPECT_LT(score.finished(), completion.finished());
  EXPECT_LT(score_of_two_passes.finished(), completion.finished());
  for (Pending& pending : waiting) {
    pending.ExpectComputed();
    EXPECT_LT(completion.finished(), pending.finished());
  }
  bench.ExpectAllPagesAreFree();
}

TEST(SchedulerCompletions, ALongPromptThatWaitsForPagesDoesNotHoldUpScoresThatNeedNone) {
  SchedulerBench bench(kThreePages);
  HeldCompletion completion(bench, /*tokens=*/60, /*held_after=*/5);
  completion.WaitUntilHeld();
  Pending waiting_prompt(bench.scheduler, PlainRequest(Text(8, 100), {2}));
  Pending& waiting_score = bench.Score("longer than a pass", {150});
  const std::vector<PackedSequence> six(6, ScoredPrompt(30, 61));
  Pending scores(bench.scheduler, {.sequences = six});
  bench.cluster.Release();
  scores.ExpectComputed();
  ExpectAllComputed({&completion, &waiting_prompt, &waiting_score});
  EXPECT_LT(scores.finished(), completion.finished());
  EXPECT_LT(completion.finished(), waiting_prompt.finished());
  EXPECT_LT(waiting_prompt.finished(), waiting_score.finished());
  bench.ExpectAllPagesAreFree();
}

}  // namespace scheduler_completions_test
}  // namespace scorecast::coordinator

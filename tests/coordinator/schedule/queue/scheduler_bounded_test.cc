// Scheduler with passes bounded in time, and several clients.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/schedule/queue/scheduler_status.h"
#include "tests/coordinator/schedule/queue/scheduler_bench.h"
#include "tests/coordinator/schedule/sample_requests.h"
#include "tests/rounds.h"

namespace scorecast::coordinator {
namespace scheduler_bounded_test {

using proto::PlanLimits;
using proto::TokenId;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Le;
using Pass = SchedulerBench::Pass;

constexpr PlanLimits kLimits{
    .max_rows = 512, .max_reads = 128, .pass_kv_rows = 4096, .kept_kv_rows = 64 * 64};

/// Passes are bounded to the time of this many rows. The clock stands still, so that nothing is
/// learned of the time of passes.
SchedulerOptions BoundedTo(int rows, std::int32_t cached_pages = 0) {
  return {.cached_pages = cached_pages,
          .max_pass_seconds = 1e-3 * rows,
          .time_model = PassTimeModel(PassRates{.row = 1e-3}),
          .now = [] { return Clock::time_point(); }};
}

ClientId Client(const std::string& address, std::uint64_t connection = 0) {
  return {address, connection};
}

std::vector<std::size_t> RowsOfPasses(const SchedulerBench& bench) {
  std::vector<std::size_t> rows;
  for (const auto& plan : bench.cluster.plans()) {
    rows.push_back(plan.tokens.size());
  }
  return rows;
}

TEST(SchedulerBounded, ASequenceThatTakesLongerThanAPassIsCut) {
  SchedulerBench bench(kLimits, BoundedTo(40));
  bench.Score("long", {100}).ExpectComputed();
  bench.Score("short", {40}).ExpectComputed();
  EXPECT_THAT(RowsOfPasses(bench), ElementsAre(40, 40, 20, 40));
  bench.ExpectAllPagesAreFree();
}

TEST(SchedulerBounded, ASequenceMayBeLongerThanTheCache) {
  SchedulerBench bench(kLimits, BoundedTo(40, /*cached_pages=*/1));
  bench.Score("long", {300}).ExpectComputed();
  bench.ExpectAllPagesAreFree();
}

TEST(SchedulerBounded, WithoutABoundPassesAreFull) {
  SchedulerOptions options = BoundedTo(40);
  options.max_pass_seconds = std::numeric_limits<double>::infinity();
  SchedulerBench bench(kLimits, options);
  bench.Score("long", {1000}).ExpectComputed();
  EXPECT_THAT(RowsOfPasses(bench), ElementsAre(512, 488));
}

TEST(SchedulerBounded, ABoundIsAtLeastThirtyTwoRows) {
  SchedulerBench bench(kLimits, BoundedTo(1));
  bench.Score("long", {33}).ExpectComputed();
  bench.Score("short", {32}).ExpectComputed();
  const std::vector<std::size_t> rows = RowsOfPasses(bench);
  EXPECT_EQ(rows.back(), 32U) << "it is not cut";
  EXPECT_THAT(rows, Each(Le(32)));
  bench.ExpectAllPagesAreFree();
}

TEST(SchedulerBounded, KeysAndReadsTakeTimeToo) {
  SchedulerOptions options = BoundedTo(0);
  // 100 rows take 0.1 s, and their keys 0.05 s.
  options.time_model = PassTimeModel(PassRates{.row = 1e-3, .key = 1e-5, .read = 1e-2});
  options.max_pass_seconds = 0.1;
  SchedulerBench bench(kLimits, options);
  bench.Score("long", {400}).ExpectComputed();
  const std::vector<std::size_t> rows = RowsOfPasses(bench);
  EXPECT_GT(rows.size(), 400U / 80);
  // Each later pass has fewer rows, because each row attends to more keys.
  EXPECT_TRUE(std::is_sorted(rows.rbegin() + 1, rows.rend()));
  EXPECT_LT(rows[rows.size() - 2], rows[0] / 2);
  bench.cluster.ForgetPlans();
  bench.cluster.Hold();
  ManyPending scores;
  for (int i = 0; i < 20; ++i) {
    scores.emplace_back(bench.scheduler, Request{.sequences = {ScoredPrompt(1, 3)}});
  }
  bench.cluster.Release();
  for (Pending& score : scores) {
    score.ExpectComputed();
  }
  EXPECT_THAT(RowsOfPasses(bench), ElementsAre(1, 9, 9, 1)) << "one in flight; nine reads in 0.1 s";
}

TEST(SchedulerBounded, WhatReadsReturnTakesTimeToo) {
  struct Case {
    PassRates rates;
    proto::RowRead read;
  };
  const std::vector<TokenId> labels(40, 1);
  // Each prompt takes 0.04 s beside its row.
  for (const auto& [rates, read] :
       {Case{{.row = 1e-3, .label = 1e-3}, {.normalizer = true}},
        Case{{.row = 1e-3, .product = 1e-3}, {}},
        Case{{.row = 1e-3, .top = 2e-3}, {.normalizer = true, .top_k = 20}}}) {
    SchedulerOptions options = BoundedTo(100);
    options.time_model = PassTimeModel(rates);
    SchedulerBench bench(kLimits, options);
    bench.cluster.Hold();
    ManyPending scores;
    for (int i = 0; i < 7; ++i) {
      Request prompt{.sequences = {ScoredPrompt(1, 3)}};
      prompt.sequences[0].label_lists = {labels};
      prompt.sequences[0].reads = {read};
      scores.emplace_back(bench.scheduler, std::move(prompt));
    }
    bench.cluster.Release();
    for (Pending& score : scores) {
      score.ExpectComputed();
    }
    EXPECT_THAT(RowsOfPasses(bench), ElementsAre(1, 2, 2, 2)) << "one in flight; two in 0.1 s";

    // A query and items of four rows, of which each takes 0.044 s.
    bench.cluster.ForgetPlans();
    Request request = ItemsRequest(Text(1, 20), std::vector<std::vector<TokenId>>(12, Text(2, 4)));
    request.sequences[0].label_lists = {labels};
    for (proto::RowRead& of_item : request.sequences[0].reads) {
      const std::int32_t row = of_item.row;
      of_item = read;
      of_item.row = row;
    }
    Pending(bench.scheduler, std::move(request)).ExpectComputed();
    EXPECT_GE(bench.cluster.plans().size(), 3U) << "it is cut";
    for (const auto& plan : bench.cluster.plans()) {
      EXPECT_LE(plan.reads.size(), 4U) << "16 rows, whatever they take";
    }
    bench.ExpectAllPagesAreFree();
  }
}

TEST(SchedulerBounded, AnythingThatIsCutHasTheSameResults) {
  for (const std::int32_t cached_pages : {0, 40}) {
    SchedulerBench bench(kLimits, BoundedTo(32, cached_pages));
    ManyPending requests;
    std::vector<std::vector<TokenId>> items;
    for (int i = 0; i < 12; ++i) {
      items.push_back(Text(i, i == 5 ? 70 : 3 + 2 * i));
    }
    requests.emplace_back(bench.scheduler, ItemsRequest(Text(1, 90), items));
    requests.emplace_back(bench.scheduler, ChunksRequest(Text(2, 50), {Text(3, 80), Text(4, 7)},
                                                         {Text(5, 45), Text(6, 4)}));
    requests.emplace_back(bench.scheduler, ChunksRequest(Text(2, 50), {Text(3, 80), Text(4, 7)},
                                                         {Text(5, 45), Text(6, 4)}, 9));
    requests.emplace_back(bench.scheduler, PlainRequest(Text(7, 150), {20, 3}));
    Request middle{.sequences = {ScoredPrompt(200, 7)}};
    for (const std::int32_t row : {150, 3, 64, 63, 150}) {
      middle.sequences[0].reads.push_back({row, 0, true, 1});
    }
    requests.emplace_back(bench.scheduler, middle);
    requests.emplace_back(bench.scheduler, middle);
    for (Pending& request : requests) {
      request.ExpectComputed();
    }
    EXPECT_THAT(RowsOfPasses(bench), Each(Le(48))) << "a question is not cut";
    bench.ExpectAllPagesAreFree();
  }
}

TEST(SchedulerBounded, ANewcomerIsComputedInTheNextPass) {
  SchedulerBench bench(kLimits, BoundedTo(40));
  bench.cluster.Hold();
  for (std::uint64_t connection = 0; connection < 4; ++connection) {
    for (const int rows : {30, 12, 300, 40, 1000, 7, 160}) {
      bench.Score("hog", {rows}, Client("hog", connection));
    }
  }
  bench.cluster.Release();
  while (bench.cluster.plans().size() < 10) {
  }
  bench.cluster.Hold();
  const std::size_t before = bench.cluster.plans().size();
  Pending& polite = bench.Score("polite", {40}, Client("polite"));
  bench.cluster.Release();
  polite.ExpectComputed();
  // The pass in flight, and perhaps one that was formed before the newcomer came.
  EXPECT_LE(bench.FirstPassWith("polite", 40), static_cast<std::ptrdiff_t>(before) + 1);
}

TEST(SchedulerBounded, LongRequestsOfDifferentClientsShareEachPass) {
  SchedulerBench bench(kLimits, BoundedTo(64));
  bench.cluster.Hold();
  bench.Score("in flight", {1});
  Pending& first = bench.Score("first", {256}, Client("a"));
  Pending& second = bench.Score("second", {256}, Client("b"));
  Pending& third = bench.Score("third", {128}, Client("c"));
  bench.cluster.Release();
  ExpectAllComputed({&first, &second, &third});
  const std::vector<Pass> passes = bench.Passes();
  EXPECT_THAT(passes[1], ::testing::UnorderedElementsAre(Pass::value_type{"first", 32},
                                                         Pass::value_type{"second", 16},
                                                         Pass::value_type{"third", 16}));
  for (std::size_t i = 1; i + 1 < passes.size(); ++i) {
    int rows = 0;
    for (const auto& [name, count] : passes[i]) {
      rows += count;
    }
    EXPECT_EQ(rows, 64) << "full";
  }
  EXPECT_LE(std::abs(bench.LastPassWith("first", 1) - bench.LastPassWith("second", 1)), 1);
  EXPECT_LT(bench.LastPassWith("third", 1), bench.LastPassWith("first", 1));
  EXPECT_LT(bench.LastPassWith("third", 1), bench.LastPassWith("second", 1));
}

TEST(SchedulerBounded, ALongRequestDoesNotWaitForAMuchLongerOneOfItsConnection) {
  SchedulerBench bench(kLimits, BoundedTo(32));
  bench.cluster.Hold();
  bench.Score("in flight", {1});
  Pending& longest = bench.Score("longest", {2000});
  Pending& long_prompt = bench.Score("long", {100});
  Pending& short_prompt = bench.Score("short", {20});
  bench.cluster.Release();
  ExpectAllComputed({&longest, &long_prompt, &short_prompt});
  EXPECT_EQ(bench.LastPassWith("short", 1), 1);
  EXPECT_LE(bench.LastPassWith("long", 1), 2 * 4 + 1);
  EXPECT_GE(bench.LastPassWith("longest", 1), 63);
}

TEST(SchedulerBounded, APassWithAStreamFollowsEachPassWithoutOne) {
  SchedulerBench bench(kLimits, BoundedTo(32));
  HeldCompletion stream(bench, /*tokens=*/40, /*held_after=*/5);
  stream.WaitUntilHeld();
  std::vector<Pending*> hogs;
  for (int i = 0; i < 12; ++i) {
    hogs.push_back(&bench.Score("full", {32}, Client("hog", 1)));
    hogs.push_back(&bench.Score("cut", {100}, Client("hog", 2)));
    hogs.push_back(&bench.Score("small", {9}, Client("hog", 3)));
  }
  bench.cluster.Release();
  const std::size_t held = stream.passes_when_held();
  stream.ExpectComputed();
  for (Pending* hog : hogs) {
    hog->ExpectComputed();
  }
  const std::vector<proto::ForwardPlan> plans = bench.cluster.plans();
  // The rows of the stream lie behind its prompt of three tokens.
  const auto has_stream = [&](const proto::ForwardPlan& plan) {
    return std::any_of(plan.sequences.begin(), plan.sequences.end(), [](const auto& sequence) {
      return sequence.segments.back().kind == proto::SegmentKind::kSuffix;
    });
  };
  std::ptrdiff_t last = static_cast<std::ptrdiff_t>(held);
  std::ptrdiff_t largest_gap = 0;
  for (std::size_t i = held; i < plans.size(); ++i) {
    if (has_stream(plans[i])) {
      largest_gap = std::max(largest_gap, static_cast<std::ptrdiff_t>(i) - last);
      last = static_cast<std::ptrdiff_t>(i);
    }
  }
  EXPECT_LE(largest_gap, 2);
  EXPECT_THAT(RowsOfPasses(bench), Each(Le(33)));
}

TEST(SchedulerBounded, StreamsThatDoNotFitOnePassTakeTurns) {
  PlanLimits limits = kLimits;
  limits.kept_kv_rows = 400 * 64;
  SchedulerBench bench(limits, BoundedTo(32));
  bench.cluster.Hold();
  ManyPending streams;
  for (int i = 0; i < 100; ++i) {
    Request request = PlainRequest(Text(i, 1), {30});
    request.client = Client("hog");
    streams.emplace_back(bench.scheduler, request);
  }
  Request polite = PlainRequest(Text(50, 1), {30});
  polite.client = Client("polite");
  Pending& alone = streams.emplace_back(bench.scheduler, polite);
  bench.cluster.Release();
  for (Pending& stream : streams) {
    stream.ExpectComputed();
  }
  // It has a row in each pass; each of the others has one in three passes.
  for (const Pending& stream : streams) {
    EXPECT_LE(alone.order(), stream.order());
  }
}

TEST(SchedulerBounded, WhatIsCachedCountsAsShort) {
  SchedulerBench bench(kLimits, BoundedTo(32, /*cached_pages=*/30));
  Pending(bench.scheduler, ItemsRequest(Text(1, 640), {Text(2, 5)})).ExpectComputed();
  bench.cluster.Hold();
  bench.Score("in flight", {1});
  Pending& hog = bench.Score("hog", {1000});
  Pending cached(bench.scheduler, ItemsRequest(Text(1, 640), {Text(3, 5)}));
  EXPECT_NEAR(bench.scheduler.status().predicted_seconds, 1.006, 1e-9)
      << "an item, and the row of the query that is read";
  bench.cluster.Release();
  EXPECT_EQ(cached.ExpectComputed().cached_tokens, 640);
  hog.ExpectComputed();
  EXPECT_LT(bench.LastPassWith("in flight", 1), bench.LastPassWith("hog", 1));
  EXPECT_LT(cached.order(), hog.order());
  const std::vector<proto::ForwardPlan> plans = bench.cluster.plans();
  const auto next = static_cast<std::size_t>(bench.LastPassWith("in flight", 1)) + 1;
  EXPECT_EQ(plans[next].sequences[0].segments.back().kind, proto::SegmentKind::kBlock);
}

TEST(SchedulerBounded, WhatOnlyLookedCachedIsComputedAllTheSame) {
  SchedulerBench bench(kLimits, BoundedTo(32, /*cached_pages=*/12));
  ManyPending requests;
  for (int round = 0; round < 3; ++round) {
    bench.cluster.Hold();
    bench.Score("in flight", {1});
    // Each looks cached when it is submitted, and evicts what the next one looks for.
    for (int i = 0; i < 5; ++i) {
      requests.emplace_back(bench.scheduler, ItemsRequest(Text(i, 300), {Text(7, 5)}));
    }
    bench.cluster.Release();
    for (Pending& request : std::exchange(requests, {})) {
      request.ExpectComputed();
    }
  }
  EXPECT_GT(bench.scheduler.status().cache.evicted_pages, 0);
  EXPECT_THAT(RowsOfPasses(bench), Each(Le(40)));
  bench.ExpectAllPagesAreFree();
}

/// A reserve of pages is left to requests of a few passes.
TEST(SchedulerBounded, AShortRequestThatIsCutDoesNotWaitForLongOnes) {
  SchedulerBench bench(kLimits, BoundedTo(32));
  bench.cluster.Hold();
  ManyPending giants;
  for (int i = 0; i < 6; ++i) {
    Request request{.sequences = {ScoredPrompt(1500, i)}};
    request.client = Client("giant " + std::to_string(i));
    giants.emplace_back(bench.scheduler, std::move(request));
  }
  Pending& cut = bench.Score("cut", {120}, Client("polite"));
  bench.cluster.Release();
  cut.ExpectComputed();
  for (Pending& giant : giants) {
    giant.ExpectComputed();
  }
  EXPECT_LE(bench.LastPassWith("cut", 1), 20);
  bench.ExpectAllPagesAreFree();
}

TEST(SchedulerBounded, TheClientThatWasServedMostIsPreempted) {
  PlanLimits limits = kLimits;
  limits.kept_kv_rows = 8 * 64;
  SchedulerBench bench(limits, BoundedTo(64));
  bench.cluster.Hold();
  Request hog = PlainRequest(Text(1, 150), {200});
  hog.client = Client("hog");
  Request polite = PlainRequest(Text(2, 3), {200});
  polite.client = Client("polite");
  Pending served_most(bench.scheduler, hog);  // The oldest.
  Pending youngest(bench.scheduler, polite);
  bench.cluster.Release();
  youngest.ExpectComputed();
  served_most.ExpectComputed();
  EXPECT_LT(youngest.order(), served_most.order());
  bench.ExpectAllPagesAreFree();
}

/// FakeCluster aborts on a plan that breaks a limit, reads K/V that is not stored, or writes K/V
/// twice. Few pages, no cache, clients, priorities, cancels: each request is computed, and as if
/// alone.
TEST(SchedulerBounded, RandomRequestsAreComputedAsIfAlone) {
  std::mt19937_64 seeds(20261124);
  for (int round = 0; round < Rounds(60); ++round) {
    const auto pick = [&](int low, int high) {
      return std::uniform_int_distribution(low, high)(seeds);
    };
    const std::int32_t pages = pick(1, 2) == 1 ? pick(4, 12) : pick(12, 60);
    const PlanLimits limits{.max_rows = pick(1, pick(0, 1) == 0 ? 60 : 700),
                            .max_reads = pick(3, 40),
                            .pass_kv_rows = 16 * pick(1, 60),
                            .kept_kv_rows = 64 * pages};
    SchedulerOptions options = BoundedTo(pick(1, 100), pick(0, 2) == 0 ? 0 : pick(1, pages));
    options.time_model = PassTimeModel(PassRates{.row = 1e-3,
                                                 .key = pick(0, 1) * 1e-5,
                                                 .read = pick(0, 1) * 1e-3,
                                                 .label = pick(0, 1) * 1e-2,
                                                 .product = pick(0, 1) * 1e-3,
                                                 .top = pick(0, 1) * 1e-3});
    SchedulerBench bench(limits, options);
    RequestMaker maker(seeds(), limits);
    ManyPending requests;
    bench.cluster.Hold();
    for (int i = 0; i < 60; ++i) {
      if (i == 20) {
        bench.cluster.Release();
      }
      Request request = maker.Make();
      request.client = Client(std::to_string(pick(0, 3)), static_cast<std::uint64_t>(pick(0, 2)));
      request.priority = pick(kMinPriority, kMaxPriority);
      Pending& pending = requests.emplace_back(bench.scheduler, std::move(request));
      if (pick(0, 9) == 0) {
        bench.scheduler.Cancel({pending.ticket()});
      }
    }
    for (Pending& request : requests) {
      request.ExpectComputedOrCancelled();
    }
    bench.scheduler.WaitIdle();
    EXPECT_EQ(bench.scheduler.status().bytes, 0);
    EXPECT_EQ(bench.scheduler.status().waiting_rows, 0);
    EXPECT_EQ(bench.scheduler.status().predicted_seconds, 0);
    bench.ExpectAllPagesAreFree();
  }
}

}  // namespace scheduler_bounded_test
}  // namespace scorecast::coordinator

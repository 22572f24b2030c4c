// Scheduler with a cache and with completions, compared with each sequence computed alone.

#include <algorithm>
#include <atomic>
#include <memory>
#include <random>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/schedule/pages/block_cache.h"
#include "tests/coordinator/schedule/queue/scheduler_bench.h"
#include "tests/coordinator/schedule/sample_requests.h"
#include "tests/rounds.h"

namespace scorecast::coordinator {
namespace scheduler_cache_test {

using proto::PlanLimits;

/// FakeCluster aborts on a plan that breaks a limit, reads K/V that is not stored, or writes K/V
/// twice.
TEST(SchedulerCache, RandomRequestsAreComputedAsIfAlone) {
  std::mt19937_64 seeds(20261122);
  for (int round = 0; round < Rounds(40); ++round) {
    const auto pick = [&](int low, int high) {
      return std::uniform_int_distribution(low, high)(seeds);
    };
    const std::int32_t pages = pick(1, 3) == 1 ? pick(4, 12) : pick(12, 60);
    const PlanLimits limits{.max_rows = pick(1, pick(0, 1) == 0 ? 60 : 700),
                            .max_reads = pick(3, 40),
                            .pass_kv_rows = 16 * pick(1, 60),
                            .kept_kv_rows = 64 * pages};
    SchedulerBench bench(limits, {.cached_pages = pick(0, 4) == 0 ? 0 : pick(1, pages)});
    std::atomic<int> done = 0;
    std::atomic<std::int64_t> cached = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&, seed = seeds()] {
        RequestMaker maker(seed, limits);
        for (int i = 0; i < 30; ++i) {
          auto request = std::make_shared<Request>(maker.Make());
          bench.scheduler.Submit(request->MakeJob([&, request](JobResult result) {
            ++done;
            cached += result.cached_tokens;
            ExpectResult(*request, result);
          }));
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    bench.scheduler.WaitIdle();
    EXPECT_EQ(done, 90);
    EXPECT_EQ(bench.scheduler.cache_counters().hit_tokens, cached);
  }
}

constexpr PlanLimits kLimits{
    .max_rows = 64, .max_reads = 64, .pass_kv_rows = 1024, .kept_kv_rows = 40 * 64};

TEST(SchedulerCache, CachedTokensAreThoseFoundByTheFirstPass) {
  SchedulerBench bench(kLimits, {.cached_pages = 30});
  const auto cached = [&](const Request& request) {
    return Pending(bench.scheduler, request).ExpectComputed().cached_tokens;
  };
  // Queries that take one pass, and queries that take several.
  for (const int query : {30, 300}) {
    const auto ask = [&](int tokens, int item) {
      return cached(ItemsRequest(Text(1, tokens), {Text(item, 9)}));
    };
    EXPECT_EQ(ask(query, 2), query == 30 ? 0 : 40) << "in a copied page";
    EXPECT_EQ(ask(query, 2), query) << "items are computed again";
    EXPECT_EQ(ask(query + 10, 3), query);
    EXPECT_EQ(ask(query - 10, 3), query - 10);
  }
  const auto chunks = [](std::int64_t completion_tokens) {
    return ChunksRequest(Text(4, 20), {Text(5, 70), Text(6, 30)}, {Text(7, 5)}, completion_tokens);
  };
  EXPECT_EQ(cached(chunks(0)), 0);
  EXPECT_EQ(cached(chunks(0)), 120);
  EXPECT_EQ(cached(chunks(30)), 120) << "by the first pass";
  bench.scheduler.WaitIdle();
  EXPECT_EQ(bench.scheduler.cache_counters().evicted_pages, 0);
}

TEST(SchedulerCache, ADocumentIsComputedOnceForQuestionsThatComeTogether) {
  SchedulerBench bench(kLimits, {.cached_pages = 30});
  bench.cluster.Hold();
  Pending in_flight(bench.scheduler, ItemsRequest(Text(1, 1), {}));
  ManyPending questions;
  for (int i = 10; i < 15; ++i) {
    questions.emplace_back(bench.scheduler, ChunksRequest({}, {Text(2, 40)}, {Text(i, 4)}, 8));
  }
  bench.cluster.Release();
  for (Pending& question : questions) {
    question.ExpectComputed();
  }
  in_flight.ExpectComputed();
  bench.scheduler.WaitIdle();
  EXPECT_EQ(bench.cluster.plans()[1].tokens.size(), 40u + 5 * 4);
  EXPECT_EQ(bench.scheduler.cache_counters().hit_tokens, 4 * 40);
}

/// The cache changes no result: every row is compared with that of the sequence computed alone.
TEST(SchedulerCache, UnderPressureTenThousandRequestsAreComputedAsIfUncached) {
  const PlanLimits limits{
      .max_rows = 256, .max_reads = 64, .pass_kv_rows = 1024, .kept_kv_rows = 20 * 64};
  SchedulerBench bench(limits, {.cached_pages = 12});
  RequestMaker maker(11, limits);
  std::atomic<int> done = 0;
  std::int64_t most_cached = 0;
  for (int i = 0; i < 10000; ++i) {
    auto request = std::make_shared<Request>(maker.Make());
    if (i % 10 > 0 && request->sequences[0].segments.back().length > 0) {
      request->generations.clear();
      request->choosers.clear();
    }
    bench.scheduler.Submit(request->MakeJob([&, request](JobResult result) {
      ++done;
      ExpectResult(*request, result);
    }));
    bench.scheduler.WaitForRoom();
    if (i % 100 == 99) {
      bench.cluster.ForgetPlans();
      bench.scheduler.WaitIdle();
      most_cached = std::max(most_cached, bench.scheduler.cache_counters().cached_pages);
    }
  }
  EXPECT_EQ(done, 10000);
  EXPECT_EQ(most_cached, 12) << "the cache keeps its budget, and uses all of it";
  const BlockCacheCounters counters = bench.scheduler.cache_counters();
  EXPECT_GT(counters.evicted_pages, 1000);
  EXPECT_GT(counters.hit_tokens, counters.asked_tokens / 10);
  bench.ExpectAllPagesAreFree();
}

}  // namespace scheduler_cache_test
}  // namespace scorecast::coordinator

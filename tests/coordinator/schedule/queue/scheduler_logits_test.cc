// The bytes of partial logits of a pass: requests are parted over passes by them, and nothing else
// changes.

#include <algorithm>
#include <atomic>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/schedule/queue/scheduler_status.h"
#include "tests/coordinator/schedule/queue/scheduler_bench.h"
#include "tests/rounds.h"

namespace scorecast::coordinator {
namespace scheduler_logits_test {

using proto::ForwardPlan;
using proto::PlanLimits;
using ::testing::Each;
using ::testing::Le;
using ::testing::SizeIs;

/// Each read of an ItemsRequest has three labels, a normalizer and two best tokens.
constexpr std::int64_t kItemBytes = 3 * 4 + 12 + 2 * 8;

/// Each read of a completion has a normalizer and the best token.
constexpr std::int64_t kCompletionBytes = 12 + 8;

PlanLimits LimitsOf(std::int64_t max_logit_bytes) {
  return {.max_rows = 600,
          .max_reads = 64,
          .pass_kv_rows = 2000,
          .kept_kv_rows = 20 * 64,
          .max_logit_bytes = max_logit_bytes,
          .vocabulary = kVocabSize};
}

std::vector<std::vector<proto::TokenId>> Items(int count) {
  std::vector<std::vector<proto::TokenId>> items;
  for (int i = 0; i < count; ++i) {
    items.push_back(Text(i + 2, 3 + i % 4));
  }
  return items;
}

std::vector<std::int64_t> LogitBytesOfPasses(const SchedulerBench& bench) {
  std::vector<std::int64_t> bytes;
  for (const ForwardPlan& plan : bench.cluster.plans()) {
    bytes.push_back(proto::LogitBytes(plan, bench.scheduler.limits()));
  }
  return bytes;
}

TEST(SchedulerLogits, ARequestIsPartedByTheBytesOfItsLogits) {
  const Request request = ItemsRequest(Text(1, 9), Items(10));
  const auto passes_with = [&](std::int64_t max_logit_bytes) {
    SchedulerBench bench(LimitsOf(max_logit_bytes));
    Pending(bench.scheduler, request).ExpectComputed();
    EXPECT_THAT(LogitBytesOfPasses(bench), Each(Le(max_logit_bytes)));
    return bench.cluster.plans().size();
  };
  EXPECT_EQ(passes_with(11 * kItemBytes), 1U) << "the query and ten items";
  EXPECT_EQ(passes_with(11 * kItemBytes - 1), 2U);
  EXPECT_EQ(passes_with(3 * kItemBytes), 4U);
  EXPECT_EQ(passes_with(kItemBytes), 11U);
}

TEST(SchedulerLogits, CompletionsOfOnePromptNeedNotBeginTogether) {
  for (const std::int64_t reads : {1, 2, 5}) {
    SchedulerBench bench(LimitsOf(reads * kCompletionBytes));
    Pending(bench.scheduler, PlainRequest(Text(1, 70), {3, 9, 1, 5, 3})).ExpectComputed();
    EXPECT_THAT(LogitBytesOfPasses(bench), Each(Le(reads * kCompletionBytes)));
  }
}

TEST(SchedulerLogits, RequestsThatFitAloneArePartedFromEachOther) {
  SchedulerBench bench(LimitsOf(10 * kItemBytes));
  bench.cluster.Hold();
  ManyPending requests;
  for (int i = 0; i < 6; ++i) {
    requests.emplace_back(bench.scheduler, ItemsRequest(Text(i, 9), Items(4)));
  }
  bench.cluster.Release();
  for (Pending& request : requests) {
    request.ExpectComputed();
  }
  EXPECT_THAT(LogitBytesOfPasses(bench), Each(Le(10 * kItemBytes)));
  EXPECT_THAT(bench.cluster.plans(), SizeIs(4)) << "one in flight, then two, two and one";
}

TEST(SchedulerLogits, ReadsCountForEveryRank) {
  PlanLimits limits = LimitsOf(1 << 20);
  limits.ranks = 3;
  const proto::RowRead labels{};
  EXPECT_EQ(proto::ReadBytes(labels, 7, limits), 7 * 4);
  const proto::RowRead drawn{.normalizer = true, .top_k = 5, .draw = proto::Draw{}};
  EXPECT_EQ(proto::ReadBytes(drawn, 7, limits), 7 * 4 + 3 * (12 + 16) + 3 * 5 * 8);
  const proto::RowRead masses{.normalizer = true,
                              .draw = proto::Draw{.count = 8},
                              .bin_width = 1,
                              .masses = {.places = {{0, 1}, {0, 2}}}};
  EXPECT_EQ(proto::ReadBytes(masses, 0, limits), 3 * (12 + 8 * 16 + 4 + 256 * 8 + 2 * 8));
  const proto::RowRead all{.normalizer = true, .top_k = 60};
  EXPECT_EQ(proto::ReadBytes(all, 0, limits), 3 * 12 + kVocabSize * 8);
  const proto::RowRead target{.normalizer = true, .target = 9};
  EXPECT_EQ(proto::ReadBytes(target, 0, limits), 3 * 12 + 4) << "one rank has the token";
  const proto::RowRead ranked{.normalizer = true, .target = 9, .ranks_target = true};
  EXPECT_EQ(proto::ReadBytes(ranked, 0, limits), 3 * (12 + 4) + 4) << "each rank has a count";
  EXPECT_EQ(proto::LargestReadBytes(limits),
            kVocabSize * 4 + 3 * (12 + 8 * 16 + 4 + 4 + 256 * 8 + 3 * 8) + kVocabSize * 8 + 4);
}

TEST(SchedulerLogits, SequencesThatShareTheirLabelsPutThemIntoAPlanOnce) {
  Request request;
  const proto::LabelList labels = {5, 6, 7};
  for (int i = 0; i < 4; ++i) {
    request.sequences.push_back(ScoredPrompt(3, i));
    request.sequences.back().label_lists = {labels};
  }
  request.sequences.push_back(ScoredPrompt(3, 9));
  SchedulerBench bench(LimitsOf(1 << 20));
  Pending(bench.scheduler, request).ExpectComputed();
  ASSERT_THAT(bench.cluster.plans(), SizeIs(1));
  EXPECT_THAT(bench.cluster.plans()[0].label_lists, SizeIs(2));
}

/// FakeCluster aborts on a plan that breaks a limit.
TEST(SchedulerLogits, RandomRequestsAreComputedAsIfAlone) {
  // Three scores may be read at one row, and completions one at a time.
  constexpr std::int64_t kOneRow = 3 * (kItemBytes + 8) + kCompletionBytes;
  std::mt19937_64 seeds(20261123);
  for (int round = 0; round < Rounds(30); ++round) {
    const auto pick = [&](int low, int high) {
      return std::uniform_int_distribution(low, high)(seeds);
    };
    PlanLimits limits = LimitsOf(0);
    limits.max_rows = pick(1, pick(0, 1) == 0 ? 60 : 700);
    limits.ranks = pick(1, 3);
    limits.max_logit_bytes = kOneRow * limits.ranks + pick(0, 300);
    const std::int32_t pages = limits.kept_kv_rows / proto::kKvPageRows;
    SchedulerBench bench(limits, {.cached_pages = pick(0, 1) == 0 ? 0 : pick(1, pages)});
    std::atomic<int> done = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&, seed = seeds()] {
        RequestMaker maker(seed, limits);
        for (int i = 0; i < 20; ++i) {
          auto request = std::make_shared<Request>(maker.Make());
          bench.scheduler.Submit(request->MakeJob([&, request](JobResult result) {
            ++done;
            ExpectResult(*request, result);
          }));
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    bench.scheduler.WaitIdle();
    EXPECT_EQ(done, 60);
    EXPECT_EQ(bench.scheduler.status().bytes, 0);
  }
}

}  // namespace scheduler_logits_test
}  // namespace scorecast::coordinator

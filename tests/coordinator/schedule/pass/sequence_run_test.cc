#include "coordinator/schedule/pass/sequence_run.h"

#include <algorithm>
#include <deque>
#include <future>
#include <memory>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/schedule/pages/block_cache.h"
#include "coordinator/schedule/pass/pass_builder.h"
#include "tests/coordinator/fake_cluster.h"
#include "tests/coordinator/schedule/sample_requests.h"

namespace scorecast::coordinator {
namespace sequence_run_test {

using proto::ForwardPlan;
using proto::KvCopy;
using proto::PackedSequence;
using proto::PlanLimits;
using proto::PlanRead;
using proto::PlanSegment;
using proto::RowLogits;
using proto::SegmentKind;
using proto::TokenId;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Outcome = SequenceRun::Outcome;
using Tokens = std::vector<TokenId>;

constexpr PlanLimits kSmall{
    .max_rows = 32, .max_reads = 4, .pass_kv_rows = 96, .kept_kv_rows = 128};
constexpr PlanLimits kLarge{
    .max_rows = 600, .max_reads = 50, .pass_kv_rows = 1600, .kept_kv_rows = 40 * 64};

/// Computes sequences, pass by pass, on a FakeCluster, which aborts on a wrong plan.
class Bench {
 public:
  explicit Bench(const PlanLimits& of_pass, std::int32_t cached_pages = 0)
      : limits(of_pass), cache(of_pass.kept_kv_rows / proto::kKvPageRows, cached_pages) {}

  std::unique_ptr<SequenceRun> Begin(const Request& request) {
    return std::make_unique<SequenceRun>(request.sequences[0], results.emplace_back(),
                                         request.generations, request.salt, cache, limits);
  }
  /// Computes a pass with rows of these runs, in this order, and gives each run the rows it read.
  ForwardPlan Compute(PassBuilder pass, const std::vector<SequenceRun*>& runs) {
    ForwardPlan plan = std::move(pass).Take();
    std::promise<std::vector<RowLogits>> computed;
    cluster.Submit(plan, [&](std::vector<RowLogits> rows) { computed.set_value(std::move(rows)); });
    std::vector<RowLogits> rows = computed.get_future().get();
    cache.PassDone();
    std::span<RowLogits> left = rows;
    for (SequenceRun* run : runs) {
      const std::size_t reads = run->reads_in_pass();
      std::vector<TokenChooser::Choice> choices;
      for (const auto& [chooser, row] : run->RowsOfCompletions(left.first(reads))) {
        choices.push_back(chooser->Take(*row));
      }
      run->Take(left.first(reads), choices);
      left = left.subspan(reads);
    }
    EXPECT_TRUE(left.empty());
    return plan;
  }
  ForwardPlan ComputePart(SequenceRun& run, std::int64_t most_rows = 1 << 20) {
    PassBuilder pass(limits);
    EXPECT_EQ(run.AddPart(pass, most_rows), Outcome::kAdded);
    return Compute(std::move(pass), {&run});
  }
  /// Computes a sequence in a pass of its own, and checks its results.
  ForwardPlan Whole(const Request& request) {
    const auto run = Begin(request);
    PassBuilder pass(limits);
    EXPECT_EQ(run->AddWhole(pass), Outcome::kAdded);
    ForwardPlan plan = Compute(std::move(pass), {run.get()});
    ExpectResults(request, *run);
    cached_rows = run->cached_rows();
    return plan;
  }
  static void ExpectResults(const Request& request, const SequenceRun& run) {
    EXPECT_TRUE(run.is_done());
    ExpectResult(request, {.rows = std::vector<std::vector<RowLogits>>{run.results()},
                           .cached_tokens = run.cached_rows(),
                           .started = {},
                           .finished = {}});
  }

  const PlanLimits limits;
  FakeCluster cluster{limits, kVocabSize};
  BlockCache cache;
  std::deque<std::vector<RowLogits>> results;
  std::int64_t cached_rows = 0;
};

Request Items(int query, const std::vector<int>& items) {
  std::vector<Tokens> texts;
  for (const int length : items) {
    texts.push_back(Text(static_cast<int>(texts.size()) + 2, length));
  }
  return ItemsRequest(Text(1, query), texts);
}

// Each pass has time for two reads of the prompt's last row, and for three steps.
TEST(SequenceRun, CompletionsThatDoNotFitAPassTakeTurns) {
  Bench bench({.max_rows = 64, .max_reads = 64, .pass_kv_rows = 128, .kept_kv_rows = 64 * 20});
  constexpr std::size_t kCompletions = 10;
  const Request request = PlainRequest(Text(1, 20), std::vector<std::int64_t>(kCompletions, 12));
  const auto run = bench.Begin(request);
  const PassBudget budget = {{.row = 1, .top = 2}, 20};
  EXPECT_FALSE(run->FitsEmptyPass(budget));
  const auto tokens = [&](std::size_t i) {
    const auto& chooser = dynamic_cast<const Greedy&>(*request.generations[i].chooser);
    return static_cast<int>(chooser.tokens().size());
  };
  int passes = 0;
  for (; !run->is_done() && passes < 400; ++passes) {
    PassBuilder pass(bench.limits, budget);
    ASSERT_EQ(run->AddPart(pass, 64, /*seconds=*/10), Outcome::kAdded);
    EXPECT_EQ(run->is_prompt_added(), passes > 1) << "reads that wait are no rows of the prompt";
    const ForwardPlan plan = bench.Compute(std::move(pass), {run.get()});
    EXPECT_LE(plan.reads.size(), 4U);
    int fewest = tokens(0);
    int most = tokens(0);
    for (std::size_t i = 1; i < kCompletions; ++i) {
      fewest = std::min(fewest, tokens(i));
      most = std::max(most, tokens(i));
    }
    EXPECT_LE(most - fewest, 6) << "after pass " << passes;
  }
  EXPECT_TRUE(run->is_done());
  EXPECT_LE(passes, 10 * 12 * 2 / 2);
}

TEST(SequenceRun, AddsWholeSequencesWithStorageInGranules) {
  Bench bench(kSmall);
  Request first = Items(5, {17, 1});
  Request second = Items(3, {2});
  first.sequences[0].reads.erase(first.sequences[0].reads.begin());
  second.sequences[0].reads.erase(second.sequences[0].reads.begin());
  const auto a = bench.Begin(first);
  const auto b = bench.Begin(second);
  PassBuilder pass(kSmall);
  ASSERT_EQ(a->AddWhole(pass), Outcome::kAdded);
  // 16 + 32 + 16 rows of pass-local storage are taken; 16 + 16 are left.
  ASSERT_EQ(b->AddWhole(pass), Outcome::kAdded);
  const ForwardPlan plan = bench.Compute(std::move(pass), {a.get(), b.get()});
  ASSERT_THAT(plan.sequences, SizeIs(2));
  EXPECT_THAT(plan.sequences[0].segments,
              ElementsAre(PlanSegment{SegmentKind::kPrefix, false, 0, 0, 0, 5, {false, 0}},
                          PlanSegment{SegmentKind::kBlock, false, 5, 0, 0, 17, {false, 16}},
                          PlanSegment{SegmentKind::kBlock, false, 5, 0, 0, 1, {false, 48}}));
  EXPECT_THAT(plan.sequences[1].segments,
              ElementsAre(PlanSegment{SegmentKind::kPrefix, false, 0, 0, 0, 3, {false, 64}},
                          PlanSegment{SegmentKind::kBlock, false, 3, 0, 0, 2, {false, 80}}));
  EXPECT_THAT(plan.reads, ElementsAre(PlanRead{21, 0, true, 2}, PlanRead{22, 0, true, 2},
                                      PlanRead{27, 1, true, 2}));
  EXPECT_THAT(plan.label_lists, ElementsAre(ElementsAre(1, 2, 3), ElementsAre(1, 2, 3)))
      << "once for each sequence";
  EXPECT_THAT(plan.tokens, SizeIs(28));
  EXPECT_EQ(plan.bucket, 32u);
  Bench::ExpectResults(first, *a);
  Bench::ExpectResults(second, *b);
}

TEST(SequenceRun, RefusesASequenceThatDoesNotFitTheRest) {
  Bench bench(kSmall);
  const auto refuse_beside = [&](const Request& taken, const Request& request) {
    PassBuilder pass(kSmall);
    EXPECT_EQ(bench.Begin(taken)->AddWhole(pass), Outcome::kAdded);
    const std::int64_t before = pass.computed_rows();
    const Outcome outcome = bench.Begin(request)->AddWhole(pass);
    EXPECT_EQ(pass.computed_rows() > before, outcome == Outcome::kAdded);
    return outcome;
  };
  EXPECT_EQ(refuse_beside(Items(5, {1}), Items(27, {})), Outcome::kNoRoom) << "rows";
  EXPECT_EQ(refuse_beside(Items(5, {1}), Items(26, {})), Outcome::kAdded);
  EXPECT_EQ(refuse_beside(Items(5, {1}), Items(1, {1, 1})), Outcome::kNoRoom) << "reads";
  EXPECT_EQ(refuse_beside(Items(5, {1}), Items(1, {1})), Outcome::kAdded);
  EXPECT_EQ(refuse_beside(Items(1, {17, 1}), Items(1, {})), Outcome::kAdded);
  Request places = Items(1, {1, 1});
  places.sequences[0].reads.resize(1);
  EXPECT_EQ(refuse_beside(Items(1, {17, 1}), places), Outcome::kNoRoom) << "places";
}

TEST(SequenceRun, CutsAtTheEndOfAPassAndKeepsRowsThatLaterOnesSee) {
  Bench bench(kSmall);
  const Request request = Items(20, {40, 6});
  const auto run = bench.Begin(request);
  EXPECT_THAT(bench.ComputePart(*run).sequences[0].segments,
              ElementsAre(PlanSegment{SegmentKind::kPrefix, false, 0, 0, 0, 20, {true, 64}},
                          PlanSegment{SegmentKind::kBlock, false, 20, 0, 0, 12, {true, 0}}));
  EXPECT_TRUE(run->is_under_way());
  EXPECT_EQ(bench.cache.available_pages(), 0);
  const ForwardPlan rest_of_block = bench.ComputePart(*run);
  EXPECT_THAT(rest_of_block.sequences[0].segments,
              ElementsAre(PlanSegment{SegmentKind::kPrefix, false, 0, 20, 20, 20, {true, 64}},
                          PlanSegment{SegmentKind::kBlock, false, 20, 12, 12, 40, {true, 0}}));
  EXPECT_THAT(rest_of_block.reads, ElementsAre(PlanRead{27, 0, true, 2}));
  EXPECT_THAT(bench.ComputePart(*run).sequences[0].segments,
              ElementsAre(PlanSegment{SegmentKind::kPrefix, false, 0, 20, 20, 20, {true, 64}},
                          PlanSegment{SegmentKind::kBlock, false, 20, 0, 0, 6, {false, 0}}))
      << "every segment is seen by a computed row";
  Bench::ExpectResults(request, *run);
  run->ReleasePages();
  EXPECT_EQ(bench.cache.available_pages(), 2);
}

TEST(SequenceRun, CutsBeforeTheRowWhoseReadsDoNotFit) {
  Bench bench(kSmall);
  Request request = Items(30, {});
  auto& reads = request.sequences[0].reads;
  reads.clear();
  for (const std::int32_t row : {3, 9, 9, 12, 12, 29}) {
    reads.push_back({row, 0, true, 2});
  }
  const auto run = bench.Begin(request);
  EXPECT_THAT(bench.ComputePart(*run).tokens, SizeIs(12));
  EXPECT_EQ(run->reads_in_pass(), 0u) << "the pass is over";
  EXPECT_THAT(bench.ComputePart(*run, 5).tokens, SizeIs(5));
  EXPECT_THAT(bench.ComputePart(*run).tokens, SizeIs(13));
  Bench::ExpectResults(request, *run);
}

TEST(SequenceRun, APlanGetsTheTokensAndTheirTypesFromBothOfTheSequencesLists) {
  PlanLimits limits = kLarge;
  limits.max_rows = 2;
  for (const bool are_last : {false, true}) {
    PackedSequence sequence;
    sequence.tokens = {11, 12, 13};
    sequence.token_types = {1, 0, 1};
    sequence.shared = {std::make_shared<const Tokens>(Tokens{20, 21, 22, 23, 24}), 1, 3, are_last};
    // The prefix has tokens of both lists, and so has the pass that computes its rows 2 and 3.
    sequence.segments = {{SegmentKind::kPrefix, 4, 0}, {SegmentKind::kBlock, 2, 4}};
    sequence.reads = {{.row = 5}};
    sequence.label_lists = {proto::LabelList({1})};
    std::vector<RowLogits> results;
    BlockCache cache(40, 0);
    SequenceRun run(sequence, results, {}, "", cache, limits);
    Tokens tokens;
    std::vector<std::uint8_t> types;
    while (!run.is_done()) {
      PassBuilder pass(limits);
      ASSERT_EQ(run.AddPart(pass, 2), Outcome::kAdded);
      const ForwardPlan plan = std::move(pass).Take();
      tokens.insert(tokens.end(), plan.tokens.begin(), plan.tokens.end());
      types.insert(types.end(), plan.token_types.begin(), plan.token_types.end());
      std::vector<RowLogits> rows(run.reads_in_pass());
      run.Take(rows);
      cache.PassDone();
    }
    EXPECT_EQ(tokens,
              are_last ? Tokens({11, 12, 13, 21, 22, 23}) : Tokens({21, 22, 23, 11, 12, 13}));
    EXPECT_EQ(types, are_last ? (std::vector<std::uint8_t>{1, 0, 1, 0, 0, 0})
                              : (std::vector<std::uint8_t>{0, 0, 0, 1, 0, 1}));
  }
}

TEST(SequenceRun, WithACachedQueryOnlyTheItemsAreComputed) {
  Bench bench(kLarge, 20);
  EXPECT_THAT(bench.Whole(ItemsRequest(Text(1, 150), {Text(2, 9), Text(3, 5)})).tokens,
              SizeIs(164));
  EXPECT_EQ(bench.cached_rows, 0);
  const ForwardPlan warm = bench.Whole(ItemsRequest(Text(1, 150), {Text(4, 7), Text(2, 9)}));
  EXPECT_THAT(warm.tokens, SizeIs(1 + 16)) << "the items, and the row of the query that is read";
  EXPECT_EQ(bench.cached_rows, 150) << "items are not cached";
  const PlanSegment& end = warm.sequences[0].segments[2];
  EXPECT_EQ(std::tuple(end.compute_begin, end.stored, end.compute_end), std::tuple(21, 22, 22))
      << "that row is not stored again";
  EXPECT_THAT(bench.Whole(ItemsRequest(Text(1, 150), {})).tokens, SizeIs(1));
  EXPECT_EQ(bench.cache.counters().cached_pages, 3);
  EXPECT_EQ(bench.cache.counters().asked_tokens, 450);
  EXPECT_EQ(bench.cache.counters().hit_tokens, 300);
}

TEST(SequenceRun, AQueryThatExtendsACachedOneComputesOnlyItsTail) {
  Bench bench(kLarge, 20);
  bench.Whole(ItemsRequest(Text(1, 100), {}));
  const ForwardPlan longer = bench.Whole(ItemsRequest(Text(1, 120), {Text(2, 4)}));
  EXPECT_THAT(longer.copies, ElementsAre(KvCopy{64, 128, 36}));
  EXPECT_THAT(longer.tokens, SizeIs(20 + 4));
  EXPECT_EQ(bench.cached_rows, 100);
  const ForwardPlan shorter = bench.Whole(ItemsRequest(Text(1, 110), {}));
  EXPECT_THAT(shorter.copies, ElementsAre(KvCopy{128, 192, 46}));
  EXPECT_THAT(shorter.tokens, SizeIs(1)) << "the row that is read";
  EXPECT_EQ(bench.cached_rows, 110);
  Tokens other = Text(1, 120);
  other[90] = (other[90] + 1) % 64;
  EXPECT_THAT(bench.Whole(ItemsRequest(other, {})).tokens, SizeIs(30));
  EXPECT_EQ(bench.cached_rows, 90);
  EXPECT_EQ(bench.cache.available_pages(), 40);
}

TEST(SequenceRun, ChunksInAnotherOrderAllHit) {
  Bench bench(kLarge, 20);
  const Tokens a = Text(2, 100);
  const Tokens b = Text(3, 64);
  const Tokens c = Text(4, 7);
  bench.Whole(ChunksRequest(Text(1, 10), {a, b, c}, {Text(5, 5)}));
  EXPECT_THAT(bench.Whole(ChunksRequest(Text(1, 10), {c, a, b}, {Text(6, 3), Text(7, 4)})).tokens,
              SizeIs(7));
  EXPECT_EQ(bench.cached_rows, 181);
  bench.Whole(ChunksRequest(Text(1, 10), {b, Text(8, 20), a}, {Text(5, 5)}));
  EXPECT_EQ(bench.cached_rows, 174);
  bench.Whole(ChunksRequest(Text(9, 10), {a, b, c}, {Text(5, 5)}));
  EXPECT_EQ(bench.cached_rows, 0) << "after another prefix";
  Request salted = ChunksRequest(Text(1, 10), {a, b, c}, {Text(5, 5)});
  salted.salt = "tenant";
  bench.Whole(salted);
  EXPECT_EQ(bench.cached_rows, 0);
  bench.Whole(salted);
  EXPECT_EQ(bench.cached_rows, 181);
}

TEST(SequenceRun, BlocksWithoutAPrefixAreCachedToo) {
  Bench bench(kLarge, 20);
  bench.Whole(ChunksRequest({}, {Text(2, 70), Text(3, 9)}, {Text(5, 5)}));
  bench.Whole(ChunksRequest({}, {Text(3, 9), Text(4, 9), Text(2, 70)}, {Text(5, 5)}));
  EXPECT_EQ(bench.cached_rows, 79);
}

/// Chunks at positions one after the other. A chunk with `grouped` belongs to the group of the
/// chunk before it.
Request Offset(const std::vector<Tokens>& chunks, const std::vector<bool>& grouped) {
  Request request;
  PackedSequence& sequence = request.sequences.emplace_back();
  sequence.label_lists = {{4, 5}};
  Append(sequence, SegmentKind::kPrefix, Text(1, 10), 0);
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    Append(sequence, SegmentKind::kBlock, chunks[i], static_cast<std::int32_t>(sequence.rows()),
           grouped[i]);
  }
  Append(sequence, SegmentKind::kSuffix, Text(9, 3), static_cast<std::int32_t>(sequence.rows()));
  ReadLast(sequence);
  return request;
}

TEST(SequenceRun, AtOffsetPositionsOnlyTheSamePositionHits) {
  Bench bench(kLarge, 20);
  const Tokens a = Text(2, 20);
  const Tokens b = Text(3, 30);
  bench.Whole(Offset({a, b}, {false, false}));
  bench.Whole(Offset({b, a}, {false, false}));
  EXPECT_EQ(bench.cached_rows, 10);
  bench.Whole(Offset({Text(4, 20), b}, {false, false}));
  EXPECT_EQ(bench.cached_rows, 10 + 30) << "after another chunk of the same length";
}

TEST(SequenceRun, ChunksOfAGroupHitOnlyAfterTheSameChunks) {
  Bench bench(kLarge, 20);
  const Tokens a = Text(2, 20);
  const Tokens b = Text(3, 30);
  bench.Whole(Offset({a, b}, {false, true}));
  bench.Whole(Offset({a, b}, {false, false}));
  EXPECT_EQ(bench.cached_rows, 10 + 20) << "the cached b has seen a";
  bench.Whole(Offset({Text(4, 20), b}, {false, true}));
  EXPECT_EQ(bench.cached_rows, 10) << "the cached b has seen other chunks";
  bench.Whole(Offset({a, b, Text(5, 8)}, {false, true, true}));
  EXPECT_EQ(bench.cached_rows, 10 + 20 + 30);
}

TEST(SequenceRun, TheSameChunkTwiceIsCachedOnce) {
  Bench bench(kLarge, 20);
  const Request request = ChunksRequest(Text(1, 10), {Text(2, 70), Text(2, 70)}, {Text(5, 5)});
  bench.Whole(request);
  EXPECT_EQ(bench.cache.counters().cached_pages, 1 + 2);
  EXPECT_EQ(bench.cache.available_pages(), 40);
  EXPECT_THAT(bench.Whole(request).tokens, SizeIs(5));
}

TEST(SequenceRun, TheSameRequestTwiceInAPassIsComputedOnce) {
  Bench bench(kLarge, 20);
  const Request request = ChunksRequest(Text(1, 10), {Text(2, 70)}, {Text(5, 5)});
  const auto a = bench.Begin(request);
  const auto b = bench.Begin(request);
  PassBuilder pass(kLarge);
  ASSERT_EQ(a->AddWhole(pass), Outcome::kAdded);
  ASSERT_EQ(b->AddWhole(pass), Outcome::kAdded);
  EXPECT_THAT(bench.Compute(std::move(pass), {a.get(), b.get()}).tokens, SizeIs(85 + 5));
  Bench::ExpectResults(request, *a);
  Bench::ExpectResults(request, *b);
}

TEST(SequenceRun, DuplicatesOfPagesCachedInTheMeantimeAreGivenBack) {
  Bench bench(kLarge, 20);
  const Request request = ChunksRequest(Text(1, 100), {Text(2, 9)}, {Text(5, 5)}, 40);
  const auto slow = bench.Begin(request);
  bench.ComputePart(*slow, 30);
  bench.Whole(ItemsRequest(Text(1, 100), {}));
  bench.ComputePart(*slow, 50);
  bench.ComputePart(*slow);
  EXPECT_TRUE(slow->is_prompt_added());
  EXPECT_EQ(bench.cache.available_pages(), 40 - 4)
      << "two pages of the prefix, one of a chunk, one of a completion";
  while (!slow->is_done()) {
    bench.ComputePart(*slow);
  }
  Bench::ExpectResults(request, *slow);
  slow->ReleasePages();
  EXPECT_EQ(bench.cache.available_pages(), 40);
}

TEST(SequenceRun, WithoutAFreePageItUsesPassLocalStorage) {
  Bench bench({.max_rows = 600, .max_reads = 50, .pass_kv_rows = 1600, .kept_kv_rows = 3 * 64}, 3);
  const std::int32_t held = bench.cache.Take().value();
  const ForwardPlan plan = bench.Whole(ChunksRequest(Text(1, 200), {Text(2, 9)}, {Text(5, 5)}));
  EXPECT_THAT(plan.sequences[0].segments,
              ElementsAre(PlanSegment{SegmentKind::kPrefix, false, 0, 0, 0, 64, {true, 64}},
                          PlanSegment{SegmentKind::kPrefix, false, 64, 0, 0, 64, {true, 128}},
                          PlanSegment{SegmentKind::kPrefix, false, 128, 0, 0, 72, {false, 0}},
                          PlanSegment{SegmentKind::kBlock, false, 200, 0, 0, 9, {false, 80}},
                          PlanSegment{SegmentKind::kSuffix, false, 209, 0, 0, 5, {false, 96}}));
  EXPECT_EQ(bench.cache.available_pages(), 2);
  EXPECT_THAT(bench.Whole(ItemsRequest(Text(1, 200), {})).tokens, SizeIs(72));
  bench.cache.Return(held);
  bench.cache.SetAwaited(true);
  EXPECT_THAT(bench.Whole(ItemsRequest(Text(3, 10), {})).sequences[0].segments,
              ElementsAre(PlanSegment{SegmentKind::kPrefix, false, 0, 0, 0, 10, {false, 0}}))
      << "a job waits for pages";
}

TEST(SequenceRun, EachChunkHasPagesOfItsOwn) {
  Bench bench(kLarge, 20);
  const Tokens a = Text(2, 7);
  const Tokens b = Text(3, 33);
  const ForwardPlan plan = bench.Whole(ChunksRequest(Text(1, 10), {a, b}, {Text(5, 5)}));
  EXPECT_THAT(plan.sequences[0].segments,
              ElementsAre(PlanSegment{SegmentKind::kPrefix, false, 0, 0, 0, 10, {true, 0}},
                          PlanSegment{SegmentKind::kBlock, false, 10, 0, 0, 7, {true, 64}},
                          PlanSegment{SegmentKind::kBlock, false, 10, 0, 0, 33, {true, 128}},
                          PlanSegment{SegmentKind::kSuffix, false, 43, 0, 0, 5, {false, 0}}));
  EXPECT_EQ(bench.cache.counters().cached_pages, 3);
  const Tokens longer = Text(3, 40);
  const ForwardPlan other = bench.Whole(ChunksRequest(Text(1, 10), {longer, a}, {Text(6, 5)}));
  EXPECT_EQ(bench.cached_rows, 10 + 33 + 7);
  EXPECT_THAT(other.copies, ElementsAre(KvCopy{128, 192, 33}));
  EXPECT_EQ(bench.cache.available_pages(), 40);
}

TEST(SequenceRun, ALongSequenceHoldsThePagesThatItNeedsAndNoMore) {
  constexpr int kChunks = 60;
  constexpr std::int32_t kPages = 1 + kChunks + 1;  // Of the prefix, the chunks, the completion.
  const PlanLimits limits{
      .max_rows = 200, .max_reads = 9, .pass_kv_rows = 2000, .kept_kv_rows = kPages * 64};
  for (const std::int32_t cached_pages : {0, kPages}) {
    Bench bench(limits, cached_pages);
    std::vector<Tokens> chunks;
    for (int i = 0; i < kChunks; ++i) {
      chunks.push_back(Text(i, 7));
      chunks.back().front() = i;
    }
    const Request request = ChunksRequest(Text(1, 60), chunks, {Text(5, 5)}, 3);
    const auto run = bench.Begin(request);
    while (!run->is_done()) {
      bench.ComputePart(*run);
      EXPECT_EQ(bench.cache.available_pages(), 0);
    }
    Bench::ExpectResults(request, *run);
    run->ReleasePages();
    EXPECT_EQ(bench.cache.available_pages(), kPages);
    EXPECT_EQ(bench.cache.counters().cached_pages, cached_pages == 0 ? 0 : kPages - 1);
    std::reverse(chunks.begin(), chunks.end());
    const Request reversed = ChunksRequest(Text(1, 60), chunks, {Text(6, 4)}, 3);
    const auto again = bench.Begin(reversed);
    while (!again->is_done()) {
      bench.ComputePart(*again);
    }
    Bench::ExpectResults(reversed, *again);
    EXPECT_EQ(again->cached_rows(), cached_pages == 0 ? 0 : 60 + 7 * kChunks);
  }
}

TEST(SequenceRun, ARunReleasedInTheMiddleOfACompletionContinuesIt) {
  for (const std::int32_t cached_pages : {0, 20}) {
    Bench bench(kLarge, cached_pages);
    const Request request = ChunksRequest(Text(1, 10), {Text(2, 70)}, {Text(5, 5)}, 40);
    const auto run = bench.Begin(request);
    for (int pass = 0; !run->is_done(); ++pass) {
      if (pass % 7 == 6) {
        run->ReleasePages();
        EXPECT_EQ(bench.cache.available_pages(), 40);
        EXPECT_FALSE(run->is_under_way());
      }
      bench.ComputePart(*run);
    }
    Bench::ExpectResults(request, *run);
    EXPECT_EQ(run->cached_rows(), 0) << "in its first pass";
  }
}

}  // namespace sequence_run_test
}  // namespace scorecast::coordinator

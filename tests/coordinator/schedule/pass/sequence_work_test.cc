#include "coordinator/schedule/pass/sequence_work.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <unordered_set>
#include <vector>

#include <gtest/gtest.h>

#include "coordinator/schedule/pages/block_cache.h"
#include "coordinator/schedule/pages/cache_peek.h"
#include "coordinator/schedule/pages/capacity.h"
#include "coordinator/schedule/pass/pass_builder.h"
#include "coordinator/schedule/pass/sequence_run.h"
#include "tests/coordinator/schedule/sample_requests.h"

namespace scorecast::coordinator {
namespace sequence_work_test {

using proto::PackedSequence;
using proto::PlanLimits;
using proto::Segment;

constexpr PlanLimits kLimits{
    .max_rows = 4096, .max_reads = 64, .pass_kv_rows = 1 << 16, .kept_kv_rows = 200 * 64};

/// Counts the keys of each row, one by one.
PassWork Counted(const PackedSequence& sequence, const std::vector<std::int32_t>& stored) {
  PassWork work{.reads = static_cast<std::int64_t>(sequence.reads.size())};
  for (const proto::RowRead& read : sequence.reads) {
    for (std::size_t i = 0;
         i < sequence.label_lists[static_cast<std::size_t>(read.label_list)].size(); ++i) {
      ++(read.normalizer ? work.labels : work.products);
    }
    work.top += read.top_k;
  }
  for (std::size_t i = 0; i < sequence.segments.size(); ++i) {
    std::size_t chain = i;
    while (sequence.segments[chain].continues) {
      --chain;
    }
    for (std::int32_t row = stored[i]; row < sequence.segments[i].length; ++row) {
      ++work.rows;
      work.keys += row + 1;
      for (std::size_t j = 0; j < i; ++j) {
        const Segment& other = sequence.segments[j];
        if (j >= chain || proto::Sees(sequence.segments[i].kind, other.kind)) {
          work.keys += other.length;
        }
      }
    }
  }
  return work;
}

TEST(SequenceWork, IsThatOfEachRow) {
  RequestMaker maker(3, kLimits);
  for (int i = 0; i < 300; ++i) {
    const PackedSequence sequence = maker.Make().sequences[0];
    std::vector<std::int32_t> stored(sequence.segments.size());
    EXPECT_EQ(WorkOf(sequence, {}), Counted(sequence, stored));
    for (std::size_t j = 0; j < stored.size(); ++j) {
      stored[j] = sequence.segments[j].length * (i % 3) / 2;
    }
    EXPECT_EQ(WorkOf(sequence, {}, stored), Counted(sequence, stored));
  }
}

TEST(SequenceWork, IsCountedExactlyByAPass) {
  RequestMaker maker(4, kLimits);
  for (int i = 0; i < 300; ++i) {
    const PackedSequence sequence = maker.Make().sequences[0];
    BlockCache cache(200, 0);
    for (const int max_rows : {4096, 50, 7}) {
      PlanLimits limits = kLimits;
      limits.max_rows = max_rows;
      if (CapacityFault(sequence, limits)) {
        continue;
      }
      std::vector<proto::RowLogits> results;
      SequenceRun run(sequence, results, {}, "", cache, limits);
      PassWork sum;
      while (!run.is_done()) {
        PassBuilder pass(limits);
        const PassWork left_before = run.WorkLeft();
        const bool is_whole = !run.is_under_way() && run.FitsEmptyPass();
        EXPECT_EQ(is_whole ? run.AddWhole(pass) : run.AddPart(pass, max_rows),
                  SequenceRun::Outcome::kAdded);
        PassWork left = run.WorkLeft();
        left += pass.work();
        if (max_rows == 4096) {
          EXPECT_EQ(left, left_before);
        }
        sum += pass.work();
        std::vector<proto::RowLogits> rows(run.reads_in_pass());
        run.Take(rows);
        cache.PassDone();
      }
      const PassWork expected = WorkOf(sequence, {});
      // A stored row that is read is computed again.
      EXPECT_GE(sum.rows, expected.rows);
      EXPECT_EQ(sum.reads, expected.reads);
      EXPECT_EQ(sum.labels, expected.labels);
      EXPECT_EQ(sum.products, expected.products);
      EXPECT_EQ(sum.top, expected.top);
      if (max_rows == 4096) {
        EXPECT_EQ(sum, expected);
      }
    }
  }
}

/// The keys of row `row` of a text of `rows` rows behind `before` others.
std::int64_t KeysOfRow(std::int64_t before, std::int64_t row, std::int64_t rows,
                       std::int64_t window, bool both_sides) {
  std::int64_t keys = 0;
  for (std::int64_t key = -before; key < rows; ++key) {
    const bool is_seen =
        both_sides ? key > row - window && key < row + window : key > row - window && key <= row;
    keys += is_seen ? 1 : 0;
  }
  return keys;
}

TEST(SequenceWork, KeysWithinWindowsAreThoseOfTheMeanLayer) {
  for (const bool both_sides : {false, true}) {
    for (const std::int64_t window : {1, 2, 5, 40, 1000}) {
      for (const std::int64_t begin :
           both_sides ? std::vector<std::int64_t>{0} : std::vector<std::int64_t>{0, 7}) {
        for (const std::int64_t end : {begin, begin + 1, begin + 4, begin + 50}) {
          const std::int64_t before = both_sides ? 0 : 11;
          std::int64_t near = 0;
          std::int64_t all = 0;
          for (std::int64_t row = begin; row < end; ++row) {
            near += KeysOfRow(before, row, end, window, both_sides);
            all += KeysOfRow(before, row, end, 1 << 20, both_sides);
          }
          const auto keys = [&](double share) {
            return KeyCount::Keys(
                before, begin, end,
                {.both_sides = both_sides, .window = window, .windowed_share = share});
          };
          EXPECT_EQ(keys(0), all);
          EXPECT_EQ(keys(1), near);
          EXPECT_EQ(keys(0.75), std::llround(0.25 * static_cast<double>(all) +
                                             0.75 * static_cast<double>(near)));
        }
      }
    }
  }
}

TEST(SequenceWork, RowsWithinATime) {
  const PassRates rates = {.row = 1e-3, .key = 1e-6};
  for (const proto::KeyReach& reach :
       {proto::KeyReach(), proto::KeyReach{.window = 64, .windowed_share = 0.5}}) {
    for (const std::int64_t before : {0, 100, 100000}) {
      for (const double seconds : {0.01, 0.2, 3.0}) {
        const std::int64_t rows = RowsWithin(seconds, rates, before, reach);
        const auto takes = [&](std::int64_t n) {
          return rates.Seconds({.rows = n, .keys = KeyCount::Keys(before, 0, n, reach)});
        };
        EXPECT_LE(takes(rows), seconds);
        EXPECT_GT(takes(rows + 1), seconds);
      }
    }
  }
  EXPECT_EQ(RowsWithin(-1, rates, 5), 0);
  EXPECT_GT(RowsWithin(1, {}, 5), 1 << 29) << "rows that take no time";
  EXPECT_GT(RowsWithin(std::numeric_limits<double>::infinity(), rates, 5), 1 << 29);
}

using Digests = std::unordered_set<std::uint64_t>;

std::vector<std::int32_t> Peek(const PackedSequence& sequence, const std::string& salt,
                               const BlockCache& cache, const Digests& expected = {}) {
  const std::vector<std::uint64_t> pages = PageDigests(sequence, salt);
  return CachedRows({sequence, salt, pages}, cache,
                    [&](std::uint64_t page) { return expected.contains(page); });
}

void Compute(const Request& request, BlockCache& cache) {
  std::vector<proto::RowLogits> results;
  SequenceRun run(request.sequences[0], results, {}, request.salt, cache, kLimits);
  PassBuilder pass(kLimits);
  ASSERT_EQ(run.AddWhole(pass), SequenceRun::Outcome::kAdded);
  std::vector<proto::RowLogits> rows(run.reads_in_pass());
  run.Take(rows);
  cache.PassDone();
}

TEST(CachedRows, AreThoseThatARunFinds) {
  BlockCache cache(200, 100);
  RequestMaker maker(9, kLimits);
  for (int i = 0; i < 400; ++i) {
    const Request request = maker.Make();
    const PackedSequence& sequence = request.sequences[0];
    std::int64_t peeked = 0;
    for (const std::int32_t rows : Peek(sequence, request.salt, cache)) {
      peeked += rows;
    }
    std::vector<proto::RowLogits> results;
    SequenceRun run(sequence, results, {}, request.salt, cache, kLimits);
    PassBuilder pass(kLimits);
    ASSERT_EQ(run.AddWhole(pass), SequenceRun::Outcome::kAdded);
    // It may also copy the beginnings of pages.
    EXPECT_LE(peeked, run.cached_rows());
    EXPECT_GE(sequence.rows() - peeked, pass.computed_rows());
    std::vector<proto::RowLogits> rows(run.reads_in_pass());
    run.Take(rows);
    cache.PassDone();
  }
  EXPECT_GT(cache.counters().hit_tokens, 0);
}

TEST(CachedRows, HoldNothing) {
  BlockCache cache(4, 4);
  const Request request = ItemsRequest(Text(1, 130), {Text(2, 4)});
  Compute(request, cache);
  EXPECT_EQ(Peek(request.sequences[0], "", cache), (std::vector<std::int32_t>{129, 0}));
  EXPECT_EQ(Peek(request.sequences[0], "other salt", cache), (std::vector<std::int32_t>{0, 0}));
  EXPECT_EQ(cache.available_pages(), 4);
}

TEST(CachedRows, PagesThatAreExpectedCountAsIfTheyWereCached) {
  BlockCache with_all(4000, 4000);
  const BlockCache with_none(8, 8);
  Digests expected;
  RequestMaker maker(10, kLimits);
  std::int64_t found = 0;
  for (int i = 0; i < 400; ++i) {
    const Request request = maker.Make();
    const PackedSequence& sequence = request.sequences[0];
    const std::vector<std::int32_t> cached = Peek(sequence, request.salt, with_all);
    EXPECT_EQ(Peek(sequence, request.salt, with_none, expected), cached);
    found += std::accumulate(cached.begin(), cached.end(), std::int64_t{0});
    Compute(request, with_all);
    const std::vector<std::uint64_t> pages = PageDigests(sequence, request.salt);
    expected.insert(pages.begin(), pages.end());
  }
  EXPECT_EQ(with_all.counters().evicted_pages, 0);
  EXPECT_GT(found, 0);
}

}  // namespace sequence_work_test
}  // namespace scorecast::coordinator

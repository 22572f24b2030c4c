// Partial logits collected range by range, in any order and on any thread, compared with plain
// loops over the whole slice.

#include "shard/readout/read_accumulator.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "shard/runtime/thread_pool.h"
#include "tests/proto/plan/row_reads.h"
#include "tests/shard/kernels/kernel_sets.h"
#include "tests/shard/random_floats.h"
#include "tests/shard/rounding.h"

namespace scorecast::shard {
namespace read_accumulator_test {

using proto::Range;
using proto::TokenId;
using testing::RandomInt;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// A slice may be empty, narrower than a range, or end anywhere in one. Of a narrow end, `Chunks`
// makes a part of the chunk before it.
constexpr std::int64_t kSlices[] = {0, 1, 15, 16, 255, 256, 257, 271, 512, 700, 5003};

/// A slice's tiles: whole ranges, in any order.
std::vector<Range> RandomTiles(std::mt19937& random, std::int64_t columns) {
  std::vector<Range> tiles;
  for (std::int64_t begin = 0; begin < columns;) {
    const std::int64_t end = std::min(begin + kRangeColumns * RandomInt(random, 1, 3), columns);
    tiles.push_back({begin, end});
    begin = end;
  }
  std::ranges::shuffle(tiles, random);
  return tiles;
}

PartialLogits Collect(std::mt19937& random, const Kernels& kernels, const proto::PlanRead& read,
                      const proto::LabelList& labels, Range vocabulary,
                      const std::vector<float>& logits, ThreadPool& pool, float target_logit = 0) {
  const std::vector<LabelColumn> columns = LabelColumns(labels, vocabulary);
  constexpr std::int64_t kStride = 3;
  std::vector<RangeNormalizer> ranges(
      static_cast<std::size_t>(Ranges(vocabulary.size()) * kStride + 1));
  ReadAccumulator accumulator(kernels, read, vocabulary, columns, ranges.data(), kStride,
                              target_logit);
  const std::vector<Range> tiles = RandomTiles(random, vocabulary.size());
  pool.ParallelFor(static_cast<std::int64_t>(tiles.size()), [&](std::int64_t i, int) {
    const Range tile = tiles[static_cast<std::size_t>(i)];
    accumulator.Add(tile, logits.data() + tile.begin);
  });
  return accumulator.Finish();
}

using Tokens = std::vector<std::pair<TokenId, float>>;

/// The tokens with these logits, without those that are excluded, which are sorted.
Tokens TokensOf(const std::vector<float>& logits, TokenId first_id,
                const proto::LabelList& excluded = {}) {
  Tokens tokens;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const TokenId id = first_id + static_cast<TokenId>(i);
    if (!std::ranges::binary_search(excluded, id)) {
      tokens.emplace_back(id, logits[i]);
    }
  }
  return tokens;
}

/// The k best, by a stable sort of all.
Tokens TopOf(Tokens top, std::int32_t k) {
  std::ranges::stable_sort(top, [](const auto& a, const auto& b) {
    return std::isnan(b.second) ? !std::isnan(a.second) : a.second > b.second;
  });
  top.resize(std::min(top.size(), static_cast<std::size_t>(k)));
  return top;
}

bool SameTop(const Tokens& a, const Tokens& b) {
  return std::ranges::equal(a, b, [](const auto& x, const auto& y) {
    return x.first == y.first && (x.second == y.second || std::isnan(x.second + y.second));
  });
}

class ReadAccumulatorTest : public KernelsTest {
 protected:
  proto::TokenPlace RandomPlace(std::int64_t columns) {
    return {static_cast<float>(RandomInt(random_, -16, 16)),
            RandomInt(random_, 0, static_cast<int>(columns) + 64)};
  }

  proto::PlanRead RandomRead(std::int64_t columns) {
    proto::PlanRead read = {.normalizer = true};
    const int most = static_cast<int>(columns) + 20;
    read.top_k = RandomInt(random_, 0, 1) * RandomInt(random_, 1, RandomInt(random_, 1, most));
    if (RandomInt(random_, 0, 1) == 0) {
      read.draw = {random_(), static_cast<std::uint32_t>(random_())};
      read.draw->count = RandomInt(random_, 1, proto::Draw::kMostTokens);
      if (RandomInt(random_, 0, 1) == 0) {
        read.draw->end = RandomPlace(columns);
      }
    }
    read.bin_width =
        std::ldexp(static_cast<float>(RandomInt(random_, 0, 1)), RandomInt(random_, -12, -4));
    for (int places = RandomInt(random_, -2, 4); places > 0; --places) {
      read.masses.places.push_back(RandomPlace(columns));
    }
    read.masses.max = 60;
    if (RandomInt(random_, 0, 1) == 0) {
      read.temperature = static_cast<float>(RandomInt(random_, 1, 30)) / 10;
    }
    read.target = RandomInt(random_, -1, static_cast<int>(columns) + 64);
    read.excludes_labels = RandomInt(random_, 0, 2) == 0;
    read.ranks_target = RandomInt(random_, 0, 1) == 0;
    return read;
  }

  void Expect(const PartialLogits& found, const proto::PlanRead& read,
              const proto::LabelList& labels, Range vocabulary, std::vector<float> logits,
              float target_logit) const {
    if (read.temperature != 1) {
      std::ranges::transform(logits, logits.begin(),
                             [&](float logit) { return logit / read.temperature; });
      target_logit /= read.temperature;
    }
    const auto first_id = static_cast<TokenId>(vocabulary.begin);
    std::vector<float> label_logits;
    for (const TokenId id : labels) {
      if (vocabulary.Contains(id)) {
        label_logits.push_back(logits[static_cast<std::size_t>(id - first_id)]);
      }
    }
    EXPECT_TRUE(testing::SameBits(found.label_logits, label_logits));
    EXPECT_EQ(found.target_logit.has_value(), vocabulary.Contains(read.target));
    if (found.target_logit) {
      EXPECT_EQ(*found.target_logit, logits[static_cast<std::size_t>(read.target - first_id)]);
    }
    float max = kNoScore;
    const Tokens tokens =
        TokensOf(logits, first_id, read.excludes_labels ? labels : proto::LabelList());
    for (const auto& [id, logit] : tokens) {
      max = std::max(max, logit);
    }
    ASSERT_EQ(found.normalizers.size(), 1U);
    EXPECT_EQ(found.normalizers[0].max, max);
    const auto at_least = std::ranges::count_if(
        tokens, [&](const auto& token) { return token.second >= target_logit; });
    EXPECT_EQ(found.target_rank, read.ranks_target ? at_least : 0);
    double sum = 0;
    for (const auto& [id, logit] : tokens) {
      sum += std::exp(static_cast<double>(logit) - max);
    }
    // Float32 rounds the argument of each exponential, which is at most 60, and each range's sum.
    EXPECT_NEAR(found.normalizers[0].sum_exp, sum,
                sum * (60 * testing::kUnitRoundoff + testing::kExpError +
                       testing::Gamma(testing::LaneSumDepth(kRangeColumns))));
    EXPECT_TRUE(SameTop(found.top, TopOf(tokens, read.top_k)));
    ExpectDrawn(found, read, vocabulary, logits, labels);
  }

  /// Draws and masses, against the plain reads of a row in which the slice's tokens have the first
  /// ids.
  void ExpectDrawn(const PartialLogits& found, proto::PlanRead read, Range vocabulary,
                   std::vector<float> logits, const proto::LabelList& labels) const {
    const auto first_id = static_cast<TokenId>(vocabulary.begin);
    std::vector<TokenId> own;
    for (const TokenId id : labels) {
      if (vocabulary.Contains(id)) {
        own.push_back(id);
      }
    }
    // The tokens before the slice are left out like labels.
    logits.insert(logits.begin(), static_cast<std::size_t>(first_id), 0);
    std::vector<TokenId> left_out(static_cast<std::size_t>(first_id));
    std::iota(left_out.begin(), left_out.end(), 0);
    if (read.excludes_labels) {
      left_out.insert(left_out.end(), own.begin(), own.end());
    }
    read.temperature = 1;  // They are divided already.
    read.excludes_labels = true;
    read.target = -1;
    read.ranks_target = false;
    const proto::RowLogits row = proto::ReadRow(logits, read, left_out);
    EXPECT_EQ(found.drawn, row.drawn);
    ASSERT_EQ(found.masses.size(), row.masses.size());
    for (std::size_t i = 0; i < row.masses.size(); ++i) {
      // A unit for each range, and the rounding of its sum and of its exponentials' arguments.
      const auto expected = static_cast<double>(row.masses[i]);
      EXPECT_NEAR(static_cast<double>(found.masses[i]), expected,
                  static_cast<double>(Ranges(vocabulary.size())) +
                      expected * (60 * testing::kUnitRoundoff + testing::kExpError +
                                  testing::Gamma(testing::LaneSumDepth(kRangeColumns))));
    }
    if (read.bin_width > 0) {
      const proto::MassBins bins = proto::BinsOf(CountedTokens(logits, left_out), read.bin_width);
      EXPECT_EQ(found.mass_bins.highest, bins.highest);
      ASSERT_EQ(found.mass_bins.masses.size(), bins.masses.size());
      for (std::size_t i = 0; i < bins.masses.size(); ++i) {
        // Each token's mass is rounded to a unit, of which it has about 2^23, after an exponential
        // in float32.
        const auto expected = static_cast<double>(bins.masses[i]);
        EXPECT_NEAR(static_cast<double>(found.mass_bins.masses[i]), expected,
                    expected * (2 * testing::kUnitRoundoff + testing::kExpError + 0x1p-23));
      }
    }
  }

  static Tokens CountedTokens(const std::vector<float>& logits,
                              const std::vector<TokenId>& left_out) {
    std::vector<TokenId> sorted = left_out;
    std::ranges::sort(sorted);
    return sorted.empty() ? TokensOf(logits, 0) : TokensOf(logits, 0, sorted);
  }

  std::mt19937 random_{11};
};

TEST_P(ReadAccumulatorTest, AgreesWithPlainLoops) {
  ThreadPool pool(3);
  for (const std::int64_t columns : kSlices) {
    for (int round = 0; round < 30; ++round) {
      const std::int64_t first = RandomInt(random_, 0, 3) * 16;
      const Range vocabulary = {first, first + columns};
      std::vector<float> logits = testing::RandomFloats(random_, columns, 15);
      if (round % 3 == 0) {  // Few different values: ties across ranges.
        std::ranges::transform(logits, logits.begin(), [](float x) { return std::round(x / 10); });
      }
      std::vector<TokenId> labels;
      for (int i = 0; i < 20; ++i) {
        labels.push_back(RandomInt(random_, 0, static_cast<int>(columns) + 64));
      }
      const proto::PlanRead read = RandomRead(columns);
      if (read.excludes_labels) {
        if (round % 5 == 0) {  // Whole ranges, and nearly so.
          labels.resize(static_cast<std::size_t>(columns * RandomInt(random_, 1, 9) / 10));
          std::iota(labels.begin(), labels.end(), static_cast<TokenId>(first));
        }
        std::ranges::sort(labels);
        labels.erase(std::ranges::unique(labels).begin(), labels.end());
      }
      // The target may lie in another slice.
      const float target = vocabulary.Contains(read.target)
                               ? logits[static_cast<std::size_t>(read.target - first)]
                               : static_cast<float>(RandomInt(random_, -16, 16));
      Expect(Collect(random_, kernels_, read, labels, vocabulary, logits, pool, target), read,
             labels, vocabulary, logits, target);
    }
  }
}

// Tiles of any width, in any order, on any number of threads.
TEST_P(ReadAccumulatorTest, TilesChangeNoBits) {
  ThreadPool one(1);
  ThreadPool three(3);
  for (const std::int64_t columns : kSlices) {
    const Range vocabulary = {32, 32 + columns};
    const std::vector<float> logits = testing::RandomFloats(random_, columns, 5);
    proto::PlanRead read = RandomRead(columns);
    read.top_k = 9;
    read.draw = {random_(), 1};
    const PartialLogits alone = Collect(random_, kernels_, read, {40}, vocabulary, logits, one);
    for (int round = 0; round < 20; ++round) {
      const PartialLogits found = Collect(random_, kernels_, read, {40}, vocabulary, logits, three);
      EXPECT_TRUE(testing::SameBits(found.label_logits, alone.label_logits));
      EXPECT_EQ(found.normalizers[0].max, alone.normalizers[0].max);
      EXPECT_EQ(found.normalizers[0].sum_exp, alone.normalizers[0].sum_exp);
      EXPECT_EQ(found.top, alone.top);
      EXPECT_EQ(found.drawn, alone.drawn);
      EXPECT_EQ(found.mass_bins, alone.mass_bins);
      EXPECT_EQ(found.masses, alone.masses);
      EXPECT_EQ(found.target_rank, alone.target_rank);
    }
  }
}

TEST_P(ReadAccumulatorTest, NonFiniteLogitsShow) {
  ThreadPool pool(2);
  for (const float bad : {kNan, kInfinity, -kInfinity}) {
    for (const std::int64_t columns : {1, 256, 300, 2000}) {
      for (int round = 0; round < 10; ++round) {
        std::vector<float> logits = testing::RandomFloats(random_, columns, 5);
        for (int n = RandomInt(random_, 1, round < 5 ? 1 : 2000); n > 0; --n) {
          logits[static_cast<std::size_t>(RandomInt(random_, 0, static_cast<int>(columns) - 1))] =
              bad;
        }
        const proto::PlanRead read = {
            .normalizer = true, .top_k = RandomInt(random_, 1, 400), .draw = {{random_(), 2}}};
        const PartialLogits found =
            Collect(random_, kernels_, read, {}, {0, columns}, logits, pool);
        EXPECT_FALSE(std::isfinite(found.normalizers[0].sum_exp));
        EXPECT_TRUE(std::isnan(found.drawn.at(0).sum));
        EXPECT_TRUE(SameTop(found.top, TopOf(TokensOf(logits, 0), read.top_k)));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ReadAccumulatorTest, ::testing::ValuesIn(UsableKernelSets()),
                         KernelSetName);

TEST(LabelColumns, AreSortedByColumn) {
  const std::vector<LabelColumn> columns = LabelColumns({30, 7, 20, 99, 25, 20}, {20, 40});
  std::vector<std::pair<std::int64_t, std::size_t>> found;
  for (const LabelColumn& label : columns) {
    found.emplace_back(label.column, label.index);
  }
  std::ranges::sort(found);
  EXPECT_EQ(found,
            (std::vector<std::pair<std::int64_t, std::size_t>>{{0, 1}, {0, 3}, {5, 2}, {10, 0}}));
  EXPECT_TRUE(std::ranges::is_sorted(columns, {}, &LabelColumn::column));
}

}  // namespace read_accumulator_test
}  // namespace scorecast::shard

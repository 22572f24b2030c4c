// Partial logits of ranks that each own a slice of the vocabulary, merged, compared with the whole
// vocabulary.

#include "shard/readout/partial_logits.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "proto/plan/gumbel.h"
#include "tests/shard/random_floats.h"
#include "tests/shard/readout/random_reads.h"

namespace scorecast::shard {
namespace partial_logits_test {

using proto::ForwardPlan;
using proto::Range;
using proto::RowLogits;
using proto::TokenId;
using testing::RandomInt;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

using Ids = std::vector<TokenId>;
/// [reads][vocab_size]
using Logits = std::vector<std::vector<float>>;

/// Logits of few different values, so that there are ties.
Logits RandomLogits(std::mt19937& random, std::size_t reads, std::int32_t vocab_size) {
  Logits logits(reads);
  for (std::vector<float>& row : logits) {
    for (std::int32_t id = 0; id < vocab_size; ++id) {
      row.push_back(static_cast<float>(RandomInt(random, -40, 40)) / 4);
    }
  }
  return logits;
}

/// The best by descending logit, then by ascending id; NaN last.
std::vector<std::pair<TokenId, float>> BestOf(const std::vector<float>& row, const Ids& ids,
                                              std::int64_t k) {
  std::vector<std::pair<TokenId, float>> best;
  for (const TokenId id : ids) {
    best.emplace_back(id, row[static_cast<std::size_t>(id)]);
  }
  std::stable_sort(best.begin(), best.end(), [](const auto& a, const auto& b) {
    return std::isnan(b.second) ? !std::isnan(a.second) : a.second > b.second;
  });
  best.resize(std::min(best.size(), static_cast<std::size_t>(k)));
  return best;
}

/// Like the kernel: a NaN is never the maximum, but it makes the sum NaN.
Normalizer NormalizerOf(const std::vector<float>& row, const Ids& ids) {
  Normalizer normalizer;
  for (const TokenId id : ids) {
    normalizer.max = std::max(normalizer.max, row[static_cast<std::size_t>(id)]);
  }
  for (const TokenId id : ids) {
    const double logit = row[static_cast<std::size_t>(id)];
    normalizer.sum_exp += std::isfinite(logit) ? std::exp(logit - normalizer.max) : kNan;
  }
  return normalizer;
}

/// The tokens with the largest sums.
std::vector<proto::DrawnToken> DrawnOf(const proto::Draw& draw, const std::vector<float>& row,
                                       const Ids& ids) {
  std::vector<proto::DrawnToken> drawn;
  for (const TokenId id : ids) {
    const float logit = row[static_cast<std::size_t>(id)];
    if (draw.end.IsAfter(logit, id) || std::isnan(logit)) {
      drawn.push_back({id, logit, logit + proto::GumbelNoise(draw.seed, draw.step, id)});
    }
  }
  std::ranges::sort(drawn, &proto::IsDrawnBefore);
  drawn.resize(std::min(drawn.size(), static_cast<std::size_t>(draw.count)));
  return drawn;
}

/// Any numbers: they are only added up.
proto::MassBins BinsOf(const std::vector<float>& row, const Ids& ids) {
  proto::MassBins bins;
  for (const TokenId id : ids) {
    const float logit = row[static_cast<std::size_t>(id)];
    const std::uint32_t mass = 1000000000U + static_cast<std::uint32_t>(id);
    bins.Add(std::isfinite(logit) ? static_cast<std::int32_t>(8 * logit) : 0, std::span(&mass, 1));
  }
  return bins;
}

std::vector<std::uint64_t> MassesOf(const proto::PlanRead& read, const std::vector<float>& row,
                                    const Ids& ids) {
  std::vector<std::uint64_t> masses;
  for (const proto::TokenPlace& place : read.masses.places) {
    masses.push_back(0);
    for (const TokenId id : ids) {
      masses.back() += place.IsAfter(row[static_cast<std::size_t>(id)], id)
                           ? (std::uint64_t{1} << 50) + static_cast<std::uint64_t>(id)
                           : 0;
    }
  }
  return masses;
}

/// Number of tokens whose logit is at least that of a token, which need not be one of them.
std::int32_t RankOf(TokenId target, const std::vector<float>& row, const Ids& ids) {
  return target < 0 ? 0 : static_cast<std::int32_t>(std::ranges::count_if(ids, [&](TokenId id) {
    return row[static_cast<std::size_t>(id)] >= row[static_cast<std::size_t>(target)];
  }));
}

Ids CountedIds(const ForwardPlan& plan, const proto::PlanRead& read, Range range) {
  return testing::CountedIds(plan.label_lists[static_cast<std::size_t>(read.label_list)], read,
                             range);
}

/// `blocks` are those of the slice `vocabulary`.
std::vector<std::byte> PartialLogitsOf(const ForwardPlan& plan, const Logits& logits,
                                       Range vocabulary, const std::vector<Range>& blocks) {
  const PartialLogitsLayout layout = LayOutPartialLogits(plan, vocabulary, std::ssize(blocks));
  EXPECT_EQ(layout.offsets.size(), plan.reads.size());
  // No byte is left out, written twice, or past the end: each part fills the bytes up to the next
  // part.
  std::vector<std::byte> bytes(layout.bytes, std::byte{0xA5});
  for (std::size_t i = 0; i < plan.reads.size(); ++i) {
    const proto::PlanRead& read = plan.reads[i];
    PartialLogits part;
    for (const TokenId id : plan.label_lists[static_cast<std::size_t>(read.label_list)]) {
      if (vocabulary.Contains(id)) {
        part.label_logits.push_back(logits[i][static_cast<std::size_t>(id)]);
      }
    }
    const Ids ids = CountedIds(plan, read, vocabulary);
    for (const Range block : blocks) {
      part.normalizers.push_back(NormalizerOf(logits[i], CountedIds(plan, read, block)));
    }
    part.top = BestOf(logits[i], ids, read.top_k);
    if (read.draw) {
      part.drawn = DrawnOf(*read.draw, logits[i], ids);
    }
    part.mass_bins = BinsOf(logits[i], ids);
    part.masses = MassesOf(read, logits[i], ids);
    if (vocabulary.Contains(read.target)) {
      part.target_logit = logits[i][static_cast<std::size_t>(read.target)];
    }
    part.target_rank = RankOf(read.target, logits[i], ids);
    const std::size_t end = i + 1 < plan.reads.size() ? layout.offsets[i + 1] : layout.bytes;
    const std::size_t size =
        part.label_logits.size() * 4 +
        (read.normalizer ? 12 * blocks.size() + part.top.size() * 8 : 0) +
        (read.draw ? 16 * static_cast<std::size_t>(read.draw->count) : 0) +
        (read.bin_width > 0 ? 4 + 256 * 8 : 0) + 8 * read.masses.places.size() +
        (vocabulary.Contains(read.target) ? 4 : 0) + (read.ranks_target ? 4 : 0);
    EXPECT_EQ(end - layout.offsets[i], size);
    WritePartialLogits(read, part, bytes.data() + layout.offsets[i]);
  }
  return bytes;
}

std::vector<RowLogits> Merged(const ForwardPlan& plan, const Logits& logits,
                              const std::vector<Range>& vocabularies) {
  std::vector<std::byte> gathered;
  for (const Range& vocabulary : vocabularies) {
    const std::vector<std::byte> bytes = PartialLogitsOf(plan, logits, vocabulary, {vocabulary});
    gathered.insert(gathered.end(), bytes.begin(), bytes.end());
  }
  const proto::PlanLimits limits{.ranks = static_cast<std::int32_t>(vocabularies.size()),
                                 .vocabulary = vocabularies.back().end};
  EXPECT_LE(static_cast<std::int64_t>(gathered.size()), proto::LogitBytes(plan, limits));
  return MergePartialLogits(plan, vocabularies, gathered);
}

void ExpectSameTop(const std::vector<std::pair<TokenId, float>>& found,
                   const std::vector<std::pair<TokenId, float>>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t k = 0; k < found.size(); ++k) {
    EXPECT_EQ(found[k].first, expected[k].first) << "place " << k;
    EXPECT_EQ(std::memcmp(&found[k].second, &expected[k].second, sizeof(float)), 0);
  }
}

TEST(PartialLogits, MergeToTheWholeVocabulary) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    const std::int32_t vocab_size = RandomInt(random, 1, 300);
    const ForwardPlan plan = testing::RandomReads(random, RandomInt(random, 0, 12), vocab_size);
    const Logits logits = RandomLogits(random, plan.reads.size(), vocab_size);
    const int ranks = RandomInt(random, 1, 9);
    const std::vector<RowLogits> rows =
        Merged(plan, logits, testing::RandomSplit(random, vocab_size, ranks));
    ASSERT_EQ(rows.size(), plan.reads.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const proto::PlanRead& read = plan.reads[i];
      std::vector<float> labels;
      for (const TokenId id : plan.label_lists[static_cast<std::size_t>(read.label_list)]) {
        labels.push_back(logits[i][static_cast<std::size_t>(id)]);
      }
      EXPECT_EQ(rows[i].label_logits, labels);
      if (!read.normalizer) {
        EXPECT_TRUE(rows[i].top.empty());
        continue;
      }
      const Ids ids = CountedIds(plan, read, {0, vocab_size});
      const Normalizer whole = NormalizerOf(logits[i], ids);
      EXPECT_EQ(rows[i].max, whole.max);
      // Float64 roundings: one for each token's addition and, for each rank, those of two
      // exponentials, two products and a sum. (The arguments, at most 20, are exact.)
      const double error = 0x1p-53 * (vocab_size + ranks * 6);
      EXPECT_NEAR(rows[i].sum_exp, whole.sum_exp, whole.sum_exp * error);
      ExpectSameTop(rows[i].top, BestOf(logits[i], ids, read.top_k));
      if (read.draw) {
        EXPECT_EQ(rows[i].drawn, DrawnOf(*read.draw, logits[i], ids));
      }
      if (read.bin_width > 0) {
        EXPECT_EQ(rows[i].mass_bins, BinsOf(logits[i], ids));
      }
      EXPECT_EQ(rows[i].masses, MassesOf(read, logits[i], ids));
      if (read.target >= 0) {
        EXPECT_EQ(rows[i].target_logit, logits[i][static_cast<std::size_t>(read.target)]);
      }
      EXPECT_EQ(rows[i].target_rank, read.ranks_target ? RankOf(read.target, logits[i], ids) : 0);
    }
  }
}

TEST(PartialLogits, NonFiniteLogitsShowInTheSum) {
  std::mt19937 random(2);
  for (int round = 0; round < 300; ++round) {
    const std::int32_t vocab_size = RandomInt(random, 2, 400);
    ForwardPlan plan = testing::RandomReads(random, 3, vocab_size);
    for (proto::PlanRead& read : plan.reads) {
      read.normalizer = true;
      read.excludes_labels = false;
      read.top_k = 50;
      read.draw = {random(), 0};
    }
    Logits logits = RandomLogits(random, 3, vocab_size);
    // Row 1 is broken, in one place or in many.
    for (int n = RandomInt(random, 0, 1) == 0 ? 1 : vocab_size / 2; n > 0; --n) {
      const float bad = round % 3 == 0 ? kNan : round % 3 == 1 ? kInfinity : -kInfinity;
      logits[1][static_cast<std::size_t>(RandomInt(random, 0, vocab_size - 1))] = bad;
    }
    const std::vector<RowLogits> rows =
        Merged(plan, logits, testing::RandomSplit(random, vocab_size, RandomInt(random, 1, 9)));
    EXPECT_TRUE(std::isfinite(rows[0].sum_exp));
    EXPECT_FALSE(std::isfinite(rows[1].sum_exp));
    if (round % 3 != 2) {
      EXPECT_FALSE(std::isfinite(rows[1].drawn.at(0).sum)) << "minus infinity is never drawn";
    }
    EXPECT_TRUE(std::isfinite(rows[2].sum_exp));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      ExpectSameTop(rows[i].top,
                    BestOf(logits[i], CountedIds(plan, plan.reads[i], {0, vocab_size}), 50));
    }
  }
}

TEST(PartialLogits, FarApartMaximaMerge) {
  ForwardPlan plan;
  plan.label_lists = {{0}};
  plan.reads = {{0, 0, true, 0}};
  const Logits logits = {{-3e38F, 3e38F, -2e38F}};
  for (const std::vector<Range>& split :
       {std::vector<Range>{{0, 1}, {1, 2}, {2, 3}}, {{0, 0}, {0, 3}}, {{0, 3}, {3, 3}}}) {
    const std::vector<RowLogits> rows = Merged(plan, logits, split);
    EXPECT_EQ(rows[0].max, 3e38F);
    EXPECT_EQ(rows[0].sum_exp, 1);
  }
}

// Whichever ranks hold the blocks: a rank may have several, or none.
TEST(PartialLogits, BlocksGiveTheSameBitsOnAnyNumberOfRanks) {
  std::mt19937 random(4);
  for (int round = 0; round < 100; ++round) {
    const std::int32_t vocab_size = RandomInt(random, 1, 300);
    const ForwardPlan plan = testing::RandomReads(random, RandomInt(random, 1, 6), vocab_size);
    const Logits logits = RandomLogits(random, plan.reads.size(), vocab_size);
    std::vector<Range> blocks = testing::RandomSplit(random, vocab_size, RandomInt(random, 1, 12));
    std::erase_if(blocks, [](const Range& block) { return block.empty(); });
    std::vector<RowLogits> expected;
    for (int ranks = 1; ranks <= 6; ++ranks) {
      std::vector<Range> slices;
      std::vector<std::int64_t> sizes;
      std::vector<std::byte> gathered;
      const std::vector<Range> of_ranks =
          ranks == 1
              ? std::vector<Range>{{0, std::ssize(blocks)}}
              : testing::RandomSplit(random, static_cast<std::int32_t>(blocks.size()), ranks);
      for (const Range of_rank : of_ranks) {
        const std::vector<Range> own(blocks.begin() + of_rank.begin, blocks.begin() + of_rank.end);
        const std::int64_t begin = slices.empty() ? 0 : slices.back().end;
        slices.push_back({begin, own.empty() ? begin : own.back().end});
        sizes.push_back(std::ssize(own));
        const std::vector<std::byte> part = PartialLogitsOf(plan, logits, slices.back(), own);
        gathered.insert(gathered.end(), part.begin(), part.end());
      }
      const proto::PlanLimits limits{.ranks = ranks,
                                     .normalizers = static_cast<std::int32_t>(blocks.size()),
                                     .vocabulary = vocab_size};
      EXPECT_LE(static_cast<std::int64_t>(gathered.size()), proto::LogitBytes(plan, limits));
      const std::vector<RowLogits> rows = MergePartialLogits(plan, slices, gathered, sizes);
      if (ranks == 1) {
        expected = rows;
        continue;
      }
      for (std::size_t i = 0; i < rows.size(); ++i) {
        EXPECT_EQ(rows[i].max, expected[i].max);
        EXPECT_EQ(rows[i].sum_exp, expected[i].sum_exp) << ranks << " ranks";
        EXPECT_EQ(rows[i].label_logits, expected[i].label_logits);
        ExpectSameTop(rows[i].top, expected[i].top);
      }
    }
  }
}

TEST(IsBetter, IsAStrictWeakOrder) {
  const std::vector<float> values = {-kInfinity, -1, -0.0F, 0, 2, kInfinity, kNan, -kNan};
  std::vector<std::pair<TokenId, float>> entries;
  for (const float value : values) {
    entries.emplace_back(static_cast<TokenId>(entries.size()), value);
    entries.emplace_back(static_cast<TokenId>(entries.size()), value);
  }
  for (const auto& a : entries) {
    EXPECT_FALSE(IsBetter(a, a));
    for (const auto& b : entries) {
      // Ids differ, so one of any two is better.
      EXPECT_EQ(IsBetter(a, b), a.first != b.first && !IsBetter(b, a));
      for (const auto& c : entries) {
        EXPECT_TRUE(!IsBetter(a, b) || !IsBetter(b, c) || IsBetter(a, c));
      }
    }
  }
}

}  // namespace partial_logits_test
}  // namespace scorecast::shard

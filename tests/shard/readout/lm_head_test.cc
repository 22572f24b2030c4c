// Vocabulary slices of an lm-head against float64, and against each other.

#include "shard/readout/lm_head.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <ostream>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "proto/plan/gumbel.h"
#include "shard/linear/arithmetic.h"
#include "shard/readout/partial_logits.h"
#include "shard/runtime/thread_pool.h"
#include "tests/shard/bf16.h"
#include "tests/shard/checkpoint/file_of_bytes.h"
#include "tests/shard/random_floats.h"
#include "tests/shard/readout/random_reads.h"
#include "tests/shard/rounding.h"

namespace scorecast::shard {
namespace lm_head_test {

using proto::ForwardPlan;
using proto::Range;
using proto::RowLogits;
using proto::TokenId;
using testing::Gamma;
using testing::RandomFloats;
using testing::RandomInt;

struct Size {
  std::int32_t vocab_size = 0;
  std::int64_t hidden_size = 0;
  Precision precision = Precision::kFloat32;
};

void PrintTo(const Size& size, std::ostream* out) {
  *out << size.vocab_size << "_by_" << size.hidden_size << "_" << Name(size.precision);
}

class LmHeadTest : public ::testing::TestWithParam<Size> {
 protected:
  LmHeadTest() : weight_(RandomFloats(random_, GetParam().vocab_size * GetParam().hidden_size)) {}

  /// Partial logits of all ranks, merged. `rows`: [reads][hidden_size]; the lm-head gets them in
  /// another order.
  std::vector<RowLogits> ReadOut(const ForwardPlan& plan,
                                 const std::vector<std::vector<float>>& rows,
                                 const std::vector<Range>& vocabularies, int threads) {
    std::vector<std::int32_t> row_of(rows.size());
    std::iota(row_of.begin(), row_of.end(), 0);
    std::shuffle(row_of.begin(), row_of.end(), random_);
    std::vector<std::vector<float>> shuffled(rows.size());
    for (std::size_t row = 0; row < rows.size(); ++row) {
      shuffled[static_cast<std::size_t>(row_of[row])] = rows[row];
    }
    return ReadOut(plan, row_of, shuffled, vocabularies, threads);
  }

  /// The same with `row_of` [reads], the index of each read's row in `rows`.
  std::vector<RowLogits> ReadOut(const ForwardPlan& plan, const std::vector<std::int32_t>& row_of,
                                 const std::vector<std::vector<float>>& rows,
                                 const std::vector<Range>& vocabularies, int threads) {
    const std::int64_t stride = GetParam().hidden_size + 3;
    std::vector<float> input(rows.size() * static_cast<std::size_t>(stride));
    for (std::size_t row = 0; row < rows.size(); ++row) {
      std::ranges::copy(rows[row], input.begin() + static_cast<std::ptrdiff_t>(row) * stride);
    }
    ThreadPool pool(threads);
    TileScratch scratch(threads);
    const Kernels& kernels = KernelsFor(DetectCpuFeatures());
    Arithmetic arithmetic(kernels, ChooseArithmetic(GetParam().precision, DetectCpuFeatures()),
                          threads);
    const FileOfBytes file(std::as_bytes(std::span(weight_)));
    const TensorView tensor = {Dtype::kF32,
                               {GetParam().vocab_size, GetParam().hidden_size},
                               &file.file(),
                               0,
                               file.file().size()};
    std::deque<LmHead> heads;
    std::vector<float> targets(plan.reads.size());
    for (const Range& vocabulary : vocabularies) {
      heads.emplace_back(
          kernels,
          Packing{arithmetic.lm_head_backend(), arithmetic.lm_head(), pool, scratch, kernels},
          tensor, vocabulary, softcap_, BiasOf(vocabulary));
      const std::vector<float> own =
          heads.back().RankedTargets(plan, row_of, {input.data(), stride});
      EXPECT_EQ(std::ssize(own),
                std::ranges::count(plan.reads, true, &proto::PlanRead::ranks_target));
      std::ranges::transform(own, targets, targets.begin(), std::plus());
    }
    std::vector<std::byte> gathered;
    for (std::size_t rank = 0; rank < heads.size(); ++rank) {
      const std::vector<std::byte> part =
          heads[rank].ReadOut(plan, row_of, {input.data(), stride}, targets);
      EXPECT_EQ(part.size(), LayOutPartialLogits(plan, vocabularies[rank]).bytes);
      gathered.insert(gathered.end(), part.begin(), part.end());
    }
    return MergePartialLogits(plan, vocabularies, gathered);
  }

  std::vector<float> BiasOf(const Range& vocabulary) const {
    return bias_.empty() ? bias_
                         : std::vector<float>(bias_.begin() + vocabulary.begin,
                                              bias_.begin() + vocabulary.end);
  }

  std::vector<std::vector<float>> RandomRows(std::size_t reads) {
    std::vector<std::vector<float>> rows;
    for (std::size_t i = 0; i < reads; ++i) {
      rows.push_back(RandomFloats(random_, GetParam().hidden_size));
    }
    return rows;
  }

  /// Logit of one token in float64, and the tolerance of the computed one. With the normaliser, the
  /// logit comes from the matrix product, whose factors are rounded. Without it, the logit is a
  /// float32 dot product.
  struct Logit {
    double value = 0;
    double tolerance = 0;
  };
  Logit LogitOf(const std::vector<float>& row, TokenId id, const proto::PlanRead& read) const {
    Logit logit;
    double sizes = 0;
    const std::int64_t hidden = GetParam().hidden_size;
    const bool is_rounded = read.normalizer && GetParam().precision == Precision::kBfloat16;
    const auto as_factor = [&](float x) { return is_rounded ? testing::RoundToBf16(x) : x; };
    for (std::int64_t i = 0; i < hidden; ++i) {
      const double product = static_cast<double>(as_factor(row[static_cast<std::size_t>(i)])) *
                             as_factor(weight_[static_cast<std::size_t>(id * hidden + i)]);
      logit.value += product;
      sizes += std::abs(product);
    }
    logit.tolerance = sizes * Gamma(hidden + 2);
    if (softcap_) {
      // tanh has a slope of at most 1.
      logit.value = *softcap_ * std::tanh(logit.value / *softcap_);
      logit.tolerance += std::abs(logit.value) * (testing::kTanhError + Gamma(2));
    }
    if (read.temperature != 1) {
      logit.value /= read.temperature;
      logit.tolerance =
          logit.tolerance / read.temperature + std::abs(logit.value) * testing::kUnitRoundoff;
    }
    return logit;
  }

  void ExpectFloat64();

  std::mt19937 random_{3};
  std::optional<double> softcap_;
  std::vector<float> weight_;
  std::vector<float> bias_;  ///< [vocab_size], or empty
};

// With and without the normaliser, in any order.
TEST_P(LmHeadTest, AgreesWithFloat64) { ExpectFloat64(); }

// All results follow from the soft-capped logits: labels of both paths, normaliser, best tokens.
TEST_P(LmHeadTest, SoftCappedAgreesWithFloat64) {
  for (const double softcap : {0.4, 6.0}) {
    softcap_ = softcap;
    ExpectFloat64();
  }
}

void LmHeadTest::ExpectFloat64() {
  const std::int32_t vocab_size = GetParam().vocab_size;
  for (const std::int32_t reads : {1, 5, 64, 65, 150}) {
    const ForwardPlan plan = testing::RandomReads(random_, reads, vocab_size);
    const auto rows = RandomRows(plan.reads.size());
    const std::vector<RowLogits> found =
        ReadOut(plan, rows, testing::RandomSplit(random_, vocab_size, RandomInt(random_, 1, 4)), 2);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const proto::PlanRead& read = plan.reads[i];
      const auto& labels = plan.label_lists[static_cast<std::size_t>(read.label_list)];
      ASSERT_EQ(found[i].label_logits.size(), labels.size());
      for (std::size_t l = 0; l < labels.size(); ++l) {
        const Logit expected = LogitOf(rows[i], labels[l], read);
        ASSERT_NEAR(found[i].label_logits[l], expected.value, expected.tolerance);
      }
      if (!read.normalizer) {
        continue;
      }
      const std::vector<TokenId> counted = testing::CountedIds(labels, read, {0, vocab_size});
      if (counted.empty()) {
        ASSERT_EQ(found[i].sum_exp, 0);
        ASSERT_TRUE(found[i].top.empty());
        ASSERT_TRUE(found[i].drawn.empty());
        continue;
      }
      double log_sum = 0;
      double worst = 0;
      double top = -INFINITY;
      for (const TokenId id : counted) {
        const Logit logit = LogitOf(rows[i], id, read);
        log_sum += std::exp(logit.value);
        worst = std::max(worst, logit.tolerance);
        top = std::max(top, logit.value);
      }
      log_sum = std::log(log_sum);
      // log Σ exp moves by at most as much as its arguments (the logits, and x - max), and by the
      // relative error of the sum.
      const double largest = 2 * std::abs(top) + std::abs(log_sum) +
                             static_cast<double>(GetParam().hidden_size) / read.temperature;
      ASSERT_NEAR(found[i].max + std::log(found[i].sum_exp), log_sum,
                  worst + largest * testing::kUnitRoundoff + testing::kExpError +
                      Gamma(testing::LaneSumDepth(1024)));
      ASSERT_EQ(found[i].top.size(),
                std::min(static_cast<std::size_t>(read.top_k), counted.size()));
      for (std::size_t k = 0; k < found[i].top.size(); ++k) {
        const Logit expected = LogitOf(rows[i], found[i].top[k].first, read);
        ASSERT_NEAR(found[i].top[k].second, expected.value, expected.tolerance);
        ASSERT_TRUE(k == 0 || IsBetter(found[i].top[k - 1], found[i].top[k]));
        ASSERT_TRUE(std::ranges::binary_search(counted, found[i].top[k].first));
      }
      if (read.top_k > 0) {
        ASSERT_EQ(found[i].top[0].second, found[i].max);
      }
      if (read.target >= 0) {
        const Logit expected = LogitOf(rows[i], read.target, read);
        ASSERT_NEAR(found[i].target_logit, expected.value, expected.tolerance);
      }
      for (const auto& [id, logit] : found[i].top) {
        ASSERT_TRUE(id != read.target || logit == found[i].target_logit);
      }
    }
  }
}

// A row's logits depend neither on the other rows nor on the number of threads.
TEST_P(LmHeadTest, CompanyChangesNoBits) {
  const std::int32_t vocab_size = GetParam().vocab_size;
  const std::vector<Range> split = testing::RandomSplit(random_, vocab_size, 2);
  const ForwardPlan plan = testing::RandomReads(random_, 100, vocab_size);
  const auto rows = RandomRows(plan.reads.size());
  const std::vector<RowLogits> together = ReadOut(plan, rows, split, 3);
  for (std::size_t i = 0; i < rows.size(); i += 7) {
    ForwardPlan alone = plan;
    alone.reads = {plan.reads[i]};
    const std::vector<RowLogits> found = ReadOut(alone, {rows[i]}, split, 1);
    EXPECT_TRUE(testing::SameBits(found[0].label_logits, together[i].label_logits));
    EXPECT_EQ(found[0].max, together[i].max);
    EXPECT_EQ(found[0].sum_exp, together[i].sum_exp);
    EXPECT_EQ(found[0].top, together[i].top);
    EXPECT_EQ(found[0].drawn, together[i].drawn);
    EXPECT_EQ(found[0].mass_bins, together[i].mass_bins);
    EXPECT_EQ(found[0].masses, together[i].masses);
    EXPECT_EQ(found[0].target_logit, together[i].target_logit);
    EXPECT_EQ(found[0].target_rank, together[i].target_rank);
  }
}

// Several reads of one row, as of many completions of one prompt, and more than are computed
// together.
TEST_P(LmHeadTest, ReadsOfOneRowAreAsAlone) {
  const std::int32_t vocab_size = GetParam().vocab_size;
  const std::vector<Range> split = testing::RandomSplit(random_, vocab_size, 3);
  const ForwardPlan plan = testing::RandomReads(random_, LmHead::kReadsAtOnce * 8 / 5, vocab_size);
  const auto rows = RandomRows(7);
  std::vector<std::int32_t> row_of;
  for (std::size_t i = 0; i < plan.reads.size(); ++i) {
    row_of.push_back(RandomInt(random_, 0, 6));
  }
  const std::vector<RowLogits> together = ReadOut(plan, row_of, rows, split, 2);
  for (std::size_t i = 0; i < plan.reads.size(); i += 97) {
    ForwardPlan alone = plan;
    alone.reads = {plan.reads[i]};
    const RowLogits found =
        ReadOut(alone, {rows[static_cast<std::size_t>(row_of[i])]}, split, 1)[0];
    EXPECT_TRUE(testing::SameBits(found.label_logits, together[i].label_logits));
    EXPECT_EQ(found.max, together[i].max);
    EXPECT_EQ(found.sum_exp, together[i].sum_exp);
    EXPECT_EQ(found.top, together[i].top);
    EXPECT_EQ(found.drawn, together[i].drawn);
    EXPECT_EQ(found.mass_bins, together[i].mass_bins);
    EXPECT_EQ(found.masses, together[i].masses);
    EXPECT_EQ(found.target_logit, together[i].target_logit);
    EXPECT_EQ(found.target_rank, together[i].target_rank);
  }
}

TEST(LmHeadMemory, IsTheInputAndTheNormalizers) {
  EXPECT_EQ(LmHead::Bytes(10, 513, 4, Precision::kFloat32), 4 * (10 * 4 + 3 * 8));
  EXPECT_EQ(LmHead::Bytes(10, 512, 4, Precision::kBfloat16), 4 * (10 * 2 + 2 * 8));
  EXPECT_EQ(LmHead::Bytes(10, 0, 1 << 20, Precision::kBfloat16), LmHead::kReadsAtOnce * 20);
}

/// A plan that reads so many rows, each with every token as a label.
ForwardPlan WholeRows(std::int32_t reads, std::int32_t vocab_size) {
  ForwardPlan plan;
  std::vector<TokenId> all_tokens(static_cast<std::size_t>(vocab_size));
  std::iota(all_tokens.begin(), all_tokens.end(), 0);
  plan.label_lists.emplace_back(std::move(all_tokens));
  for (std::int32_t i = 0; i < reads; ++i) {
    plan.reads.push_back({i, 0, true, 0});
  }
  return plan;
}

// A temperature divides the logits, and every other result follows from the divided ones.
TEST_P(LmHeadTest, TemperatureDividesTheLogits) {
  const std::int32_t vocab_size = GetParam().vocab_size;
  const std::vector<Range> split = {{0, vocab_size}};
  const auto rows = RandomRows(1);
  ForwardPlan plan = WholeRows(1, vocab_size);
  const RowLogits plain = ReadOut(plan, rows, split, 1)[0];
  plan.reads[0].temperature = 0.7F;
  const RowLogits divided = ReadOut(plan, rows, split, 1)[0];
  for (std::size_t id = 0; id < plain.label_logits.size(); ++id) {
    EXPECT_EQ(divided.label_logits[id], plain.label_logits[id] / 0.7F);
  }
  EXPECT_EQ(divided.max, plain.max / 0.7F);
}

// With and without the normaliser.
TEST_P(LmHeadTest, ABiasIsAddedToTheLogits) {
  const std::int32_t vocab_size = GetParam().vocab_size;
  const std::int64_t cut = std::min(16, vocab_size);
  const auto rows = RandomRows(2);
  ForwardPlan plan = WholeRows(2, vocab_size);
  plan.reads[1].normalizer = false;
  const std::vector<Range> split = {{0, cut}, {cut, vocab_size}};
  const std::vector<RowLogits> plain = ReadOut(plan, rows, split, 1);
  bias_ = RandomFloats(random_, vocab_size);
  const std::vector<RowLogits> found = ReadOut(plan, rows, split, 2);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t id = 0; id < bias_.size(); ++id) {
      ASSERT_EQ(found[i].label_logits[id], plain[i].label_logits[id] + bias_[id]);
    }
  }
  EXPECT_EQ(found[0].max, std::ranges::max(found[0].label_logits));
}

// The soft-cap comes before the temperature, and is the same function in both paths.
TEST_P(LmHeadTest, SoftCapBendsTheLogitsOfBothPaths) {
  const std::int32_t vocab_size = GetParam().vocab_size;
  const std::vector<Range> split = {{0, vocab_size}};
  const auto rows = RandomRows(1);
  const Kernels& kernels = KernelsFor(DetectCpuFeatures());
  for (const bool normalizer : {true, false}) {
    ForwardPlan plan = WholeRows(1, vocab_size);
    plan.reads[0].normalizer = normalizer;
    softcap_.reset();
    RowLogits expected = ReadOut(plan, rows, split, 1)[0];
    softcap_ = 1.5;
    for (float& logit : expected.label_logits) {
      kernels.soft_cap(1.5F, 1, &logit);
    }
    EXPECT_TRUE(
        testing::SameBits(ReadOut(plan, rows, split, 2)[0].label_logits, expected.label_logits));
    if (normalizer) {
      plan.reads[0].temperature = 0.7F;
      const RowLogits divided = ReadOut(plan, rows, split, 1)[0];
      for (std::size_t id = 0; id < expected.label_logits.size(); ++id) {
        EXPECT_EQ(divided.label_logits[id], expected.label_logits[id] / 0.7F);
      }
    }
  }
}

// A draw uses the same logits as the labels, for any split and any number of threads.
TEST_P(LmHeadTest, DrawsTheLargestOfLogitsAndNoise) {
  const std::int32_t vocab_size = GetParam().vocab_size;
  const auto rows = RandomRows(20);
  ForwardPlan plan = WholeRows(20, vocab_size);
  for (proto::PlanRead& read : plan.reads) {
    read.draw = {random_(), static_cast<std::uint32_t>(read.row)};
    read.temperature = read.row % 2 == 0 ? 1.0F : 2.5F;
  }
  const std::int64_t cut = std::min(16, vocab_size);
  for (const auto& split : {std::vector<Range>{{0, vocab_size}}, {{0, cut}, {cut, vocab_size}}}) {
    const std::vector<RowLogits> found = ReadOut(plan, rows, split, split.size() == 1 ? 3 : 1);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      proto::DrawnToken best;
      for (TokenId id = 0; id < vocab_size; ++id) {
        const float logit = found[i].label_logits[static_cast<std::size_t>(id)];
        const double sum =
            logit + proto::GumbelNoise(plan.reads[i].draw->seed, plan.reads[i].draw->step, id);
        if (sum > best.sum) {
          best = {id, logit, sum};
        }
      }
      EXPECT_EQ(found[i].drawn, std::vector{best});
    }
  }
}

// A target is compared with the logits of all slices, whichever of them has it: as many as are read
// together or more, and several of one chunk.
TEST_P(LmHeadTest, TheRankOfATargetIsACount) {
  const std::int32_t vocab_size = GetParam().vocab_size;
  // Fewer of a large vocabulary, whose logits are all returned.
  const std::int32_t reads = vocab_size > 1000 ? 40 : LmHead::kReadsAtOnce + 70;
  const auto rows = RandomRows(static_cast<std::size_t>(reads));
  ForwardPlan plan = WholeRows(reads, vocab_size);
  for (proto::PlanRead& read : plan.reads) {
    read.target = read.row % 3 == 0 ? vocab_size - 1 : RandomInt(random_, 0, vocab_size - 1);
    read.ranks_target = read.row % 5 != 0;
    read.temperature = read.row % 2 == 0 ? 1.0F : 2.5F;
  }
  bias_ = RandomFloats(random_, vocab_size);
  softcap_ = 3.0;
  const std::vector<RowLogits> found =
      ReadOut(plan, rows, testing::RandomSplit(random_, vocab_size, 3), 2);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const RowLogits& row = found[i];
    const float target = row.label_logits[static_cast<std::size_t>(plan.reads[i].target)];
    ASSERT_EQ(row.target_logit, target);
    const auto rank =
        std::ranges::count_if(row.label_logits, [&](float logit) { return logit >= target; });
    ASSERT_EQ(row.target_rank, plan.reads[i].ranks_target ? rank : 0);
  }
}

TEST_P(LmHeadTest, NanShowsInTheDraw) {
  const std::int32_t vocab_size = GetParam().vocab_size;
  weight_[weight_.size() - 1] = std::numeric_limits<float>::quiet_NaN();
  ForwardPlan plan = WholeRows(2, vocab_size);
  plan.reads[0].draw = {1, 2};
  plan.reads[1].draw = {3, 4};
  for (const RowLogits& row : ReadOut(plan, RandomRows(2), {{0, 0}, {0, vocab_size}}, 2)) {
    EXPECT_FALSE(std::isfinite(row.drawn.at(0).sum));
    EXPECT_FALSE(std::isfinite(row.sum_exp));
  }
}

// Tokens with equal weights have equal logits, and are sorted by id.
TEST_P(LmHeadTest, TiesAreByIdAcrossRanks) {
  const std::int32_t vocab_size = GetParam().vocab_size;
  const auto hidden = static_cast<std::ptrdiff_t>(GetParam().hidden_size);
  for (std::int32_t id = 1; id < vocab_size; ++id) {
    std::copy_n(weight_.begin(), hidden, weight_.begin() + id * hidden);
  }
  ForwardPlan plan;
  plan.label_lists = {{0}};
  plan.reads = {{0, 0, true, 7}};
  const auto rows = RandomRows(1);
  // Cuts at multiples of a grain, as MakePartition makes them. With other cuts, another kernel
  // might compute a column.
  for (const std::int64_t cut : {std::int64_t{0}, std::int64_t{16}, std::int64_t{vocab_size}}) {
    const std::int64_t at = std::min<std::int64_t>(cut, vocab_size);
    const RowLogits row = ReadOut(plan, rows, {{0, at}, {at, vocab_size}}, 1)[0];
    for (std::size_t k = 1; k < row.top.size(); ++k) {
      if (row.top[k].second == row.top[k - 1].second) {
        EXPECT_LT(row.top[k - 1].first, row.top[k].first);
      } else {
        EXPECT_GT(row.top[k - 1].second, row.top[k].second);
      }
    }
  }
}

std::vector<Size> Sizes() {
  std::vector<Size> sizes;
  for (const Precision precision : {Precision::kFloat32, Precision::kBfloat16}) {
    // 513 leaves one token more than whole chunks; 20000 are many ranges.
    for (const Size& size :
         {Size{1, 8}, Size{3, 16}, Size{320, 48}, Size{513, 20}, Size{700, 33}, Size{20000, 5}}) {
      sizes.push_back({size.vocab_size, size.hidden_size, precision});
    }
  }
  return sizes;
}

INSTANTIATE_TEST_SUITE_P(All, LmHeadTest, ::testing::ValuesIn(Sizes()),
                         ::testing::PrintToStringParamName());

}  // namespace lm_head_test
}  // namespace scorecast::shard

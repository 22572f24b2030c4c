// Vocabulary slices of an lm-head against float64, and against each other.

#include "shard/transformer/lm_head.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "shard/linear/openblas_backend.h"
#include "shard/runtime/thread_pool.h"
#include "shard/transformer/answer.h"
#include "tests/shard/random_floats.h"
#include "tests/shard/rounding.h"
#include "tests/shard/transformer/random_answer.h"

namespace scorecast::shard {
namespace {

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
};

class LmHeadTest : public ::testing::TestWithParam<Size> {
 protected:
  LmHeadTest()
      : weight_(RandomFloats(random_, GetParam().vocab_size * GetParam().hidden_size)),
        tensor_{Dtype::kF32,
                {GetParam().vocab_size, GetParam().hidden_size},
                std::as_bytes(std::span(weight_))} {}

  /// Answers of all ranks, merged. `rows` [reads][hidden_size].
  std::vector<RowLogits> Answer(const ForwardPlan& plan,
                                const std::vector<std::vector<float>>& rows,
                                const std::vector<Range>& vocabularies, int threads) {
    const std::int64_t stride = GetParam().hidden_size + 3;
    std::vector<float> input(rows.size() * static_cast<std::size_t>(stride));
    for (std::size_t row = 0; row < rows.size(); ++row) {
      std::ranges::copy(rows[row], input.begin() + static_cast<std::ptrdiff_t>(row) * stride);
    }
    ThreadPool pool(threads);
    OpenBlasBackend backend;
    std::vector<std::byte> answers;
    for (const Range& vocabulary : vocabularies) {
      LmHead head(KernelsFor(DetectInstructionSet()), backend, tensor_, vocabulary, threads);
      const std::vector<std::byte> answer = head.Answer(plan, {input.data(), stride}, pool);
      EXPECT_EQ(answer.size(), LayOutAnswer(plan, vocabulary).bytes);
      answers.insert(answers.end(), answer.begin(), answer.end());
    }
    return MergeAnswers(plan, vocabularies, answers);
  }

  std::vector<std::vector<float>> RandomRows(std::size_t reads) {
    std::vector<std::vector<float>> rows;
    for (std::size_t i = 0; i < reads; ++i) {
      rows.push_back(RandomFloats(random_, GetParam().hidden_size));
    }
    return rows;
  }

  /// Logit of one token in float64 and how far float32 may be from it.
  struct Logit {
    double value = 0;
    double tolerance = 0;
  };
  Logit LogitOf(const std::vector<float>& row, TokenId id) const {
    Logit logit;
    double sizes = 0;
    const std::int64_t hidden = GetParam().hidden_size;
    for (std::int64_t i = 0; i < hidden; ++i) {
      const double product = static_cast<double>(row[static_cast<std::size_t>(i)]) *
                             weight_[static_cast<std::size_t>(id * hidden + i)];
      logit.value += product;
      sizes += std::abs(product);
    }
    logit.tolerance = sizes * Gamma(hidden + 2);
    return logit;
  }

  std::mt19937 random_{3};
  std::vector<float> weight_;
  TensorView tensor_;
};

// More reads than are given logits at once, with and without the normaliser, in any order.
TEST_P(LmHeadTest, AgreesWithFloat64) {
  const std::int32_t vocab_size = GetParam().vocab_size;
  for (const std::int32_t reads : {1, 5, 64, 65, 150}) {
    const ForwardPlan plan = testing::RandomReads(random_, reads, vocab_size);
    const auto rows = RandomRows(plan.reads.size());
    const std::vector<RowLogits> found =
        Answer(plan, rows, testing::RandomSplit(random_, vocab_size, RandomInt(random_, 1, 4)), 2);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const proto::PlanRead& read = plan.reads[i];
      const auto& labels = plan.label_lists[static_cast<std::size_t>(read.label_list)];
      ASSERT_EQ(found[i].label_logits.size(), labels.size());
      for (std::size_t l = 0; l < labels.size(); ++l) {
        const Logit expected = LogitOf(rows[i], labels[l]);
        ASSERT_NEAR(found[i].label_logits[l], expected.value, expected.tolerance);
      }
      if (!read.normalizer) {
        continue;
      }
      double log_sum = 0;
      double worst = 0;
      double top = -INFINITY;
      for (TokenId id = 0; id < vocab_size; ++id) {
        const Logit logit = LogitOf(rows[i], id);
        log_sum += std::exp(logit.value);
        worst = std::max(worst, logit.tolerance);
        top = std::max(top, logit.value);
      }
      log_sum = std::log(log_sum);
      // log Σ exp moves by at most as much as its arguments (the logits, and x - max), and by the
      // relative error of the sum.
      const double largest = 2 * std::abs(top) + std::abs(log_sum) + GetParam().hidden_size;
      ASSERT_NEAR(found[i].max + std::log(found[i].sum_exp), log_sum,
                  worst + largest * testing::kUnitRoundoff + testing::kExpError +
                      Gamma(testing::LaneSumDepth(1024)));
      ASSERT_EQ(found[i].top.size(), static_cast<std::size_t>(std::min(read.top_k, vocab_size)));
      for (std::size_t k = 0; k < found[i].top.size(); ++k) {
        const Logit expected = LogitOf(rows[i], found[i].top[k].first);
        ASSERT_NEAR(found[i].top[k].second, expected.value, expected.tolerance);
        ASSERT_TRUE(k == 0 || IsBetter(found[i].top[k - 1], found[i].top[k]));
      }
      if (read.top_k > 0) {
        ASSERT_EQ(found[i].top[0].second, found[i].max);
      }
    }
  }
}

// A row's answer does not depend on the other rows, nor on the threads.
TEST_P(LmHeadTest, CompanyChangesNoBits) {
  const std::int32_t vocab_size = GetParam().vocab_size;
  const std::vector<Range> split = testing::RandomSplit(random_, vocab_size, 2);
  const ForwardPlan plan = testing::RandomReads(random_, 100, vocab_size);
  const auto rows = RandomRows(plan.reads.size());
  const std::vector<RowLogits> together = Answer(plan, rows, split, 3);
  for (std::size_t i = 0; i < rows.size(); i += 7) {
    ForwardPlan alone = plan;
    alone.reads = {plan.reads[i]};
    const std::vector<RowLogits> found = Answer(alone, {rows[i]}, split, 1);
    EXPECT_TRUE(testing::SameBits(found[0].label_logits, together[i].label_logits));
    EXPECT_EQ(found[0].max, together[i].max);
    EXPECT_EQ(found[0].sum_exp, together[i].sum_exp);
    EXPECT_EQ(found[0].top, together[i].top);
  }
}

// Tokens of equal weights have equal logits, and stand in the order of their ids.
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
  // Ranges of a grain, as MakePartition cuts them: elsewhere a column's kernel may be another.
  for (const std::int64_t cut : {std::int64_t{0}, std::int64_t{16}, std::int64_t{vocab_size}}) {
    const std::int64_t at = std::min<std::int64_t>(cut, vocab_size);
    const RowLogits row = Answer(plan, rows, {{0, at}, {at, vocab_size}}, 1)[0];
    for (std::size_t k = 1; k < row.top.size(); ++k) {
      if (row.top[k].second == row.top[k - 1].second) {
        EXPECT_LT(row.top[k - 1].first, row.top[k].first);
      } else {
        EXPECT_GT(row.top[k - 1].second, row.top[k].second);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, LmHeadTest,
                         ::testing::Values(Size{1, 8}, Size{3, 16}, Size{320, 48}, Size{700, 33}),
                         [](const auto& size) {
                           return std::to_string(size.param.vocab_size) + "_by_" +
                                  std::to_string(size.param.hidden_size);
                         });

}  // namespace
}  // namespace scorecast::shard

// The oracle, compared with results of Hugging Face transformers before it judges anything else.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tests/reference/directories.h"
#include "tests/reference/golden_cases.h"
#include "tests/reference/golden_directories.h"
#include "tests/reference/log_probabilities.h"
#include "tests/reference/packed_layout.h"
#include "tests/reference/reference_model.h"

namespace scorecast::reference {
namespace golden_test {

using TokenLists = std::vector<std::vector<TokenId>>;

constexpr double kGoldenDigits = 0.5e-9;  // golden.json rounds to nine decimals

// How far the reference itself may be from exact arithmetic. It rounds to float32 (u = 2^-24) in
// each norm (input, mean square, inverse root, product), in RoPE (cos, sin) and in softmax (score,
// difference, exponential, sum, quotient): 15 times per layer, and four times in the last norm.
// Each rounding moves a hidden vector by about u of its length, hence a logit by about u of the
// largest one. A log-probability is a difference of two logits and moves by twice that.
double Tolerance(const ReferenceModel& model, std::span<const double> logits) {
  double largest = 0;
  for (const double logit : logits) {
    largest = std::max(largest, std::abs(logit));
  }
  const auto roundings = static_cast<double>(15 * model.config().num_hidden_layers() + 4);
  return 2 * largest * roundings * 0x1p-24 + kGoldenDigits;
}

/// The largest distance of a row's log-probabilities from the golden ones, in units of the
/// tolerance.
double Distance(const ReferenceModel& model, const std::vector<double>& logits,
                const std::vector<TokenId>& labels, const std::vector<double>& label_logprobs,
                const TopLogProbs& top_logprobs) {
  const std::vector<double> log_probabilities = LogSoftmax(logits);
  double largest = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const double actual = log_probabilities.at(static_cast<std::size_t>(labels[i]));
    largest = std::max(largest, std::abs(actual - label_logprobs.at(i)));
  }
  for (const auto& [id, golden] : top_logprobs) {
    const double actual = log_probabilities.at(static_cast<std::size_t>(id));
    largest = std::max(largest, std::abs(actual - golden));
  }
  return largest / Tolerance(model, logits);
}

std::vector<TokenId> Ids(const TopLogProbs& top) {
  std::vector<TokenId> ids;
  for (const auto& [id, log_probability] : top) {
    ids.push_back(id);
  }
  return ids;
}

void ExpectGoldenRow(const ReferenceModel& model, const std::vector<double>& logits,
                     const MultiItemCase& golden, const GoldenRows& rows, std::size_t row) {
  SCOPED_TRACE("row " + std::to_string(row));
  EXPECT_LE(Distance(model, logits, golden.label_token_ids, rows.label_logprobs.at(row),
                     rows.top_logprobs.at(row)),
            1.0);
  EXPECT_EQ(Ids(Top(logits, rows.top_logprobs.at(row).size())), Ids(rows.top_logprobs.at(row)));
}

/// Logits of the last row of an ordinary causal sequence.
std::vector<double> CausalLogits(const ReferenceModel& model, const std::vector<TokenId>& tokens) {
  const PackedLayout layout = LayOut(tokens, {});
  return model.Logits(layout.tokens, layout.segments, layout.last_rows).front();
}

/// Each group's chunks as one block, because a chunk sees the earlier ones and continues their
/// positions.
TokenLists BlocksOf(const ChunkAwareCase& golden) {
  TokenLists blocks;
  for (const TokenLists& group : GroupsOf(golden)) {
    std::vector<TokenId>& block = blocks.emplace_back();
    for (const std::vector<TokenId>& chunk : group) {
      block.insert(block.end(), chunk.begin(), chunk.end());
    }
  }
  return blocks;
}

std::vector<std::int32_t> PositionsOf(const PackedLayout& layout) {
  std::vector<std::int32_t> positions;
  for (const proto::Segment& segment : layout.segments) {
    positions.resize(positions.size() + static_cast<std::size_t>(segment.length));
    std::iota(positions.end() - segment.length, positions.end(), segment.first_position);
  }
  return positions;
}

std::vector<double> LastRowLogits(const ReferenceModel& model, const PackedLayout& layout,
                                  const proto::BlockWeighting& weighting = {}) {
  const std::vector<std::int32_t> last = {layout.last_rows.back()};
  return model.Logits(layout.tokens, layout.segments, last, weighting).front();
}

std::string CaseName(const testing::TestParamInfo<std::string_view>& param) {
  std::string name(param.param);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

class FamilyTest : public testing::TestWithParam<std::string_view> {
 protected:
  FamilyTest()
      : dir_(std::filesystem::path(kTestsDirectory) / "golden" / "families" / GetParam()),
        model_(dir_),
        golden_(LoadFamilyGolden(dir_)) {}

  std::filesystem::path dir_;
  ReferenceModel model_;
  FamilyGolden golden_;
};

TEST_P(FamilyTest, MultiItemInOnePackedSequence) {
  ASSERT_FALSE(golden_.multi_item.empty());
  for (const MultiItemCase& golden : golden_.multi_item) {
    for (const GoldenRows* rows : {&golden.hidden, &golden.first}) {
      const PackedLayout layout = LayOut(rows->prefix, golden.items);
      const auto logits = model_.Logits(layout.tokens, layout.segments, layout.last_rows);
      ASSERT_EQ(logits.size(), rows->label_logprobs.size());
      for (std::size_t row = 0; row < logits.size(); ++row) {
        ExpectGoldenRow(model_, logits[row], golden, *rows, row);
      }
    }
  }
}

TEST_P(FamilyTest, MultiItemOneByOne) {
  for (const MultiItemCase& golden : golden_.multi_item) {
    for (const GoldenRows* rows : {&golden.hidden, &golden.first}) {
      ExpectGoldenRow(model_, CausalLogits(model_, rows->prefix), golden, *rows, 0);
      for (std::size_t item = 0; item < golden.items.size(); ++item) {
        std::vector<TokenId> tokens = rows->prefix;
        tokens.insert(tokens.end(), golden.items[item].begin(), golden.items[item].end());
        ExpectGoldenRow(model_, CausalLogits(model_, tokens), golden, *rows, item + 1);
      }
    }
  }
}

// The tolerance is small enough to detect the mistakes that matter.
TEST_P(FamilyTest, MistakesAreFarOutsideTheTolerance) {
  const MultiItemCase& golden = golden_.multi_item.front();
  const GoldenRows& rows = golden.hidden;
  const auto distance_of_last_item = [&](const PackedLayout& layout) {
    return Distance(model_, LastRowLogits(model_, layout), golden.label_token_ids,
                    rows.label_logprobs.back(), rows.top_logprobs.back());
  };
  const PackedLayout right = LayOut(rows.prefix, golden.items);
  EXPECT_LE(distance_of_last_item(right), 1.0);

  PackedLayout one_position_late = right;
  ++one_position_late.segments.back().first_position;
  EXPECT_GT(distance_of_last_item(one_position_late), 100.0);

  PackedLayout sees_the_other_items = right;
  sees_the_other_items.segments.back().kind = proto::SegmentKind::kSuffix;
  EXPECT_GT(distance_of_last_item(sees_the_other_items), 100.0);

  EXPECT_GT(distance_of_last_item(LayOut(golden.first.prefix, golden.items)), 100.0);
}

TEST_P(FamilyTest, ChunkAware) {
  int weighted = 0;
  for (const ChunkAwareCase& golden : golden_.chunk_aware) {
    // The reference weighs blocks in float64, including the softmax. Tolerance, which counts
    // roundings of softmax in every row, is therefore more than enough here.
    const proto::BlockWeighting weighting = WeightingOf(golden);
    weighted += weighting.is_plain() ? 0 : 1;
    const TokenLists blocks = BlocksOf(golden);
    const PackedLayout layout = LayOut(golden.system, blocks, golden.question, golden.strategy);
    EXPECT_EQ(PositionsOf(layout), golden.positions);
    const std::vector<double> logits = LastRowLogits(model_, layout, weighting);
    EXPECT_LE(Distance(model_, logits, golden.label_token_ids, golden.label_logprobs,
                       golden.top_logprobs),
              1.0);
    const PackedLayout in_chunks =
        LayOutGroups(golden.system, GroupsOf(golden), {golden.question}, golden.strategy);
    EXPECT_EQ(PositionsOf(in_chunks), golden.positions);
    EXPECT_EQ(LastRowLogits(model_, in_chunks, weighting), logits);

    std::vector<TokenId> suffix = golden.question;
    std::vector<TokenId> greedy;
    while (greedy.size() < golden.greedy.size()) {
      const auto step =
          LastRowLogits(model_, LayOut(golden.system, blocks, suffix, golden.strategy), weighting);
      ASSERT_GT(golden.smallest_greedy_margin, 2 * Tolerance(model_, step));
      greedy.push_back(Top(step, 1).front().first);
      suffix.push_back(greedy.back());
    }
    EXPECT_EQ(greedy, golden.greedy);
  }
  EXPECT_GE(golden_.chunk_aware.size(), 6U);
  EXPECT_EQ(weighted, golden_.chunk_aware.size() > 6 ? 2 : 0);
}

// The result with a wrong temperature or scale is far outside the tolerance.
TEST_P(FamilyTest, OtherWeightingsAreFarOutsideTheTolerance) {
  for (const ChunkAwareCase& golden : golden_.chunk_aware) {
    const proto::BlockWeighting right = WeightingOf(golden);
    const PackedLayout layout =
        LayOut(golden.system, BlocksOf(golden), golden.question, golden.strategy);
    for (const proto::BlockWeighting& wrong :
         {proto::BlockWeighting{1, right.scale}, proto::BlockWeighting{right.temperature, 1}}) {
      if (wrong != right) {
        EXPECT_GT(Distance(model_, LastRowLogits(model_, layout, wrong), golden.label_token_ids,
                           golden.label_logprobs, golden.top_logprobs),
                  100.0);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, FamilyTest, testing::ValuesIn(kGoldenFamilies), CaseName);

class RealVocabularyTest : public testing::TestWithParam<std::string_view> {
 protected:
  void SetUp() override {
    dir_ = std::filesystem::path(kSharedDirectory) / "models" / GetParam();
    if (!std::filesystem::exists(dir_ / "golden.json")) {
      GTEST_SKIP() << "no reference model in " << dir_;
    }
  }

  static void ExpectGoldenItem(const ReferenceModel& model, const std::vector<double>& logits,
                               const TextCase& golden, std::size_t item) {
    SCOPED_TRACE("item " + std::to_string(item) + " of " + golden.query);
    const double tolerance = Tolerance(model, logits);
    const std::vector<double> log_probabilities = LogSoftmax(logits);
    std::vector<double> label_logits;
    for (const TokenId label : golden.label_token_ids) {
      label_logits.push_back(logits.at(static_cast<std::size_t>(label)));
    }
    const std::vector<double> over_labels = LogSoftmax(label_logits);
    for (std::size_t i = 0; i < golden.label_token_ids.size(); ++i) {
      const auto label = static_cast<std::size_t>(golden.label_token_ids[i]);
      const double probability = std::exp(log_probabilities.at(label));
      EXPECT_NEAR(probability, golden.probabilities.at(item).at(i),
                  std::expm1(tolerance) * probability + kGoldenDigits);
      const double softmax = std::exp(over_labels.at(i));
      EXPECT_NEAR(softmax, golden.softmax.at(item).at(i),
                  std::expm1(tolerance) * softmax + kGoldenDigits);
    }
  }

  std::filesystem::path dir_;
};

TEST_P(RealVocabularyTest, IdsOfEveryRequest) {
  const ReferenceModel model(dir_);
  const TextGolden golden = LoadTextGolden(dir_);
  ASSERT_FALSE(golden.multi_item.empty());
  ASSERT_FALSE(golden.one_by_one.empty());
  for (const TextCase& request : golden.multi_item) {
    const PackedLayout layout = LayOut(request.query_ids, request.items_ids);
    const auto logits = model.Logits(layout.tokens, layout.segments, layout.last_rows);
    ASSERT_EQ(logits.size(), 1 + request.softmax.size());
    for (std::size_t item = 0; item < request.items.size(); ++item) {
      ExpectGoldenItem(model, logits[item + 1], request, item);
    }
  }
  for (const TextCase& request : golden.one_by_one) {
    ASSERT_EQ(request.prompts_ids.size(), request.items.size());
    for (std::size_t item = 0; item < request.items.size(); ++item) {
      ExpectGoldenItem(model, CausalLogits(model, request.prompts_ids[item]), request, item);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, RealVocabularyTest, testing::Values("llama2-tiny", "qwen3-tiny"),
                         CaseName);

}  // namespace golden_test
}  // namespace scorecast::reference

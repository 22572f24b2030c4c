// The engine agrees with other implementations and with the dense-mask oracle.

#include <cmath>
#include <filesystem>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "tests/mpi/engine_harness.h"
#include "tests/mpi/stored_oracle.h"
#include "tests/reference/directories.h"
#include "tests/reference/golden_cases.h"
#include "tests/reference/golden_directories.h"
#include "tests/reference/log_probabilities.h"
#include "tests/reference/random_checkpoint.h"
#include "tests/reference/temp_directory.h"

namespace scorecast::testing {
namespace engine_golden_test {

using proto::PackedSequence;
using proto::RowLogits;
using proto::Segment;
using proto::SegmentKind;
using proto::TokenId;

/// The promised largest error of a log-probability against the references.
constexpr double kTolerance = 1e-4;

void ExpectRow(const RowLogits& row, const std::vector<double>& label_logprobs,
               const reference::TopLogProbs& top) {
  const std::vector<double> found = LabelLogProbs(row);
  ASSERT_EQ(found.size(), label_logprobs.size());
  for (std::size_t l = 0; l < found.size(); ++l) {
    EXPECT_NEAR(found[l], label_logprobs[l], kTolerance) << "label " << l;
  }
  ASSERT_EQ(row.top.size(), top.size());
  for (std::size_t k = 0; k < top.size(); ++k) {
    EXPECT_EQ(row.top[k].first, top[k].first) << "place " << k;
    EXPECT_NEAR(static_cast<double>(row.top[k].second) - row.max - std::log(row.sum_exp),
                top[k].second, kTolerance);
  }
}

class FamilyGolden : public ::testing::TestWithParam<reference::GoldenDirectory> {};

TEST_P(FamilyGolden, MultiItem) {
  const std::filesystem::path dir = GetParam().path;
  Engine engine(dir);
  const reference::FamilyGolden golden = reference::LoadFamilyGolden(dir);
  ASSERT_FALSE(golden.multi_item.empty());
  for (const reference::MultiItemCase& item_case : golden.multi_item) {
    for (const reference::GoldenRows* expected : {&item_case.hidden, &item_case.first}) {
      const auto results = engine.RunTogether({ItemsSequence(
          expected->prefix, item_case.items, item_case.label_token_ids, /*top_k=*/5)});
      if (!engine.is_root()) {
        continue;
      }
      ASSERT_EQ(results[0].size(), expected->label_logprobs.size());
      for (std::size_t row = 0; row < results[0].size(); ++row) {
        SCOPED_TRACE("row " + std::to_string(row));
        ExpectRow(results[0][row], expected->label_logprobs[row], expected->top_logprobs[row]);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, FamilyGolden,
    ::testing::ValuesIn(reference::FindGoldenDirectories(std::string(reference::kTestsDirectory) +
                                                         "/golden")
                            .language_models));

/// A prefix, blocks and suffixes of random lengths. All blocks begin at the same position, and so
/// do all suffixes.
PackedSequence RandomSequence(std::mt19937& random, std::int64_t vocab_size) {
  const auto length = [&](int low, int high) {
    return std::uniform_int_distribution<std::int32_t>(low, high)(random);
  };
  PackedSequence sequence;
  const std::int32_t prefix = length(1, 90);
  sequence.segments.push_back({SegmentKind::kPrefix, prefix, 0});
  std::int32_t longest = 0;
  for (int blocks = length(0, 6); blocks > 0; --blocks) {
    sequence.segments.push_back({SegmentKind::kBlock, length(1, 70), prefix});
    longest = std::max(longest, sequence.segments.back().length);
  }
  for (int suffixes = length(0, 2); suffixes > 0; --suffixes) {
    sequence.segments.push_back({SegmentKind::kSuffix, length(1, 20), prefix + longest});
  }
  std::int32_t rows = 0;
  for (const Segment& segment : sequence.segments) {
    rows += segment.length;
    sequence.reads.push_back({rows - 1, 0, true, 3});
    sequence.reads.push_back({rows - 1 - length(0, segment.length - 1), 0, true, 3});
  }
  sequence.tokens = reference::RandomTokens(random(), static_cast<std::size_t>(rows), vocab_size);
  sequence.label_lists = {{0, 5, static_cast<TokenId>(vocab_size) - 1, 17}};
  return sequence;
}

class RandomLayouts : public ::testing::TestWithParam<const char*> {
 protected:
  void ExpectTheOracle(const proto::ModelConfig& config);
};

TEST_P(RandomLayouts, AgreeWithTheOracle) { ExpectTheOracle(reference::TinyConfig(GetParam())); }

// Windows of one position, of a page and a position, and of more positions than there are.
TEST_P(RandomLayouts, AgreeForEveryWindow) {
  proto::ModelConfig config = reference::TinyConfig(GetParam());
  for (const std::int64_t window : {1, 65, 10000}) {
    SCOPED_TRACE("window " + std::to_string(window));
    config.layers[0].sliding_window = window;
    ExpectTheOracle(config);
  }
}

// One K/V head, a head_dim apart from the others, odd sizes.
TEST_P(RandomLayouts, AgreeForOtherSizes) {
  proto::ModelConfig config = reference::TinyConfig(GetParam());
  config.num_key_value_heads = 1;
  config.num_attention_heads = 5;
  config.head_dim = 18;
  config.hidden_size = 37;
  config.intermediate_size = 53;
  config.vocab_size = 211;
  config.tie_word_embeddings = true;
  ExpectTheOracle(config);
}

// A chunk of gates and ups has whole blocks of them and a narrow one, and each has biases.
TEST_P(RandomLayouts, AgreeForBlocksOfGates) {
  proto::ModelConfig config = reference::TinyConfig(GetParam());
  config.layers.resize(1);
  config.mlp_bias = true;
  for (const std::int64_t intermediate : {143, 335}) {
    SCOPED_TRACE("intermediate " + std::to_string(intermediate));
    config.intermediate_size = intermediate;
    ExpectTheOracle(config);
  }
}

void RandomLayouts::ExpectTheOracle(const proto::ModelConfig& config) {
  const reference::TempDirectory dir;  // Each rank has its own, with the same weights.
  reference::RandomCheckpoint checkpoint;
  checkpoint.config = config;
  checkpoint.seed = 11;
  reference::WriteRandomWeights(dir.path(), checkpoint);
  Engine engine(dir.path(), config, {.threads = 2, .max_rows = 1024});
  const StoredOracle oracle(dir.path(), config);
  std::mt19937 random(5);
  for (int round = 0; round < 8; ++round) {
    const PackedSequence sequence = RandomSequence(random, engine.config().vocab_size);
    const auto results = engine.RunTogether({sequence});
    if (!engine.is_root()) {
      continue;
    }
    std::vector<std::int32_t> rows;
    for (const proto::RowRead& read : sequence.reads) {
      rows.push_back(read.row);
    }
    const auto expected = oracle.Logits(sequence.tokens, sequence.segments, rows);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::vector<double> log_probs = reference::LogSoftmax(expected[i]);
      std::vector<double> labels;
      for (const TokenId id : sequence.label_lists[0]) {
        labels.push_back(log_probs[static_cast<std::size_t>(id)]);
      }
      SCOPED_TRACE("round " + std::to_string(round) + ", read " + std::to_string(i));
      ExpectRow(results[0][i], labels, reference::Top(log_probs, 3));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, RandomLayouts,
                         ::testing::Values("llama", "qwen3", "mistral", "gemma", "gemma2",
                                           "gemma3_text"));

// A model may be trained with an lm-head of its own although config.json says that it is tied.
TEST(TiedLmHead, IsThatOfTheCheckpointIfThereIsOne) {
  const reference::TempDirectory dir;
  reference::RandomCheckpoint checkpoint;
  checkpoint.config = reference::TinyConfig("gemma");
  ASSERT_FALSE(checkpoint.config.tie_word_embeddings);
  checkpoint.seed = 12;
  reference::WriteRandomWeights(dir.path(), checkpoint);
  std::mt19937 random(6);
  PackedSequence sequence = RandomSequence(random, checkpoint.config.vocab_size);
  sequence.reads.push_back({0, 0, /*normalizer=*/false, 0});

  Engine untied(dir.path(), checkpoint.config, {});
  const auto expected = untied.RunTogether({sequence});
  checkpoint.config.tie_word_embeddings = true;
  Engine tied(dir.path(), checkpoint.config, {});
  const auto found = tied.RunTogether({sequence});
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; !found.empty() && i < found[0].size(); ++i) {
    EXPECT_TRUE(SameBits(found[0][i], expected[0][i])) << "read " << i;
  }
}

/// 9 query heads and 3 K/V heads over more ranks than K/V heads, up to one query head per rank.
TEST(UnevenPartition, NineHeads) {
  const std::filesystem::path dir =
      std::filesystem::path(reference::kTestsDirectory) / "golden/families/llama-nine-heads";
  Engine engine(dir, {.threads = 1});
  for (const reference::MultiItemCase& item_case : reference::LoadFamilyGolden(dir).multi_item) {
    const auto results = engine.RunTogether(
        {ItemsSequence(item_case.hidden.prefix, item_case.items, item_case.label_token_ids)});
    for (std::size_t row = 0; engine.is_root() && row < results[0].size(); ++row) {
      const std::vector<double> found = LabelLogProbs(results[0][row]);
      for (std::size_t l = 0; l < found.size(); ++l) {
        EXPECT_NEAR(found[l], item_case.hidden.label_logprobs[row][l], 1e-4);
      }
    }
  }
}

}  // namespace engine_golden_test
}  // namespace scorecast::testing

// A model that is divided in blocks gives the same bits on any number of ranks and hosts.

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/mpi/engine_harness.h"
#include "tests/mpi/stored_oracle.h"
#include "tests/reference/directories.h"
#include "tests/reference/log_probabilities.h"
#include "tests/reference/random_checkpoint.h"
#include "tests/reference/temp_directory.h"

namespace scorecast::testing {
namespace rank_invariance_test {

using proto::PackedSequence;
using proto::RowLogits;
using proto::TokenId;
using shard::Precision;

const std::filesystem::path kGolden = std::string(reference::kTestsDirectory) + "/golden";

std::vector<TokenId> Tokens(std::uint64_t seed, std::size_t count, std::int64_t vocabulary) {
  return reference::RandomTokens(seed, count, vocabulary);
}

/// Reads the log-probabilities of labels, the best tokens, a token's rank and a draw.
PackedSequence ScoredSequence(const proto::ModelConfig& config) {
  const std::int64_t tokens = config.output_size();
  std::vector<TokenId> labels = {0, static_cast<TokenId>(tokens / 2),
                                 static_cast<TokenId>(tokens - 1)};
  labels.erase(std::ranges::unique(labels).begin(), labels.end());
  std::vector<std::vector<TokenId>> items;
  for (const std::size_t length : {3U, 1U, 17U, 40U}) {
    items.push_back(Tokens(100 + length, length, config.vocab_size));
  }
  PackedSequence sequence =
      ItemsSequence(Tokens(1, 70, config.vocab_size), items, labels, /*top_k=*/4);
  for (proto::RowRead& read : sequence.reads) {
    read.target = labels.back();
    read.ranks_target = true;
  }
  return sequence;
}

/// A text whose rows are pooled, and one whose rows are all read as they are.
std::vector<PackedSequence> Texts(const proto::ModelConfig& config) {
  std::vector<PackedSequence> texts;
  for (const bool is_raw : {false, true}) {
    PackedSequence& text = texts.emplace_back();
    text.tokens = Tokens(7, 45, config.vocab_size);
    const auto rows = static_cast<std::int32_t>(text.tokens.size());
    text.segments = {{proto::SegmentKind::kPrefix, rows, 0}};
    for (std::int32_t row = is_raw ? 0 : rows - 1; row < rows; ++row) {
      text.reads.push_back({.row = row, .first_row = is_raw ? row : 0, .raw = is_raw});
    }
  }
  return texts;
}

std::vector<PackedSequence> SequencesOf(const proto::ModelConfig& config) {
  return config.read_head ? Texts(config) : std::vector{ScoredSequence(config)};
}

/// The numbers of ranks and hosts, as if so many ranks had a host of their own.
struct Layout {
  int ranks = 1;
  int ranks_a_host = shard::RowExchange::kAsTheyAre;
};
constexpr Layout kOneHost[] = {{1}, {2}, {3}, {4}, {6}, {8}};
constexpr Layout kSeveralHosts[] = {{1}, {3}, {3, 1}, {4, 2}, {6, 3}, {6, 2}, {8, 4}};

/// The results on the first ranks of the job; empty on the job's ranks other than 0.
std::vector<RowLogits> ResultsOn(const Layout& layout, const std::filesystem::path& dir,
                                 const proto::ModelConfig& config, Engine::Options options,
                                 proto::Sharding sharding = proto::Sharding::kInBlocks) {
  const proto::Communicator world = proto::Communicator::World();
  const bool takes_part = world.rank() < layout.ranks;
  proto::Communicator group = world.Split(takes_part ? 0 : 1);
  if (!takes_part) {
    return {};
  }
  options.threads = 1;
  options.ranks_a_host = layout.ranks_a_host;
  options.sharding = sharding;
  Engine engine(dir, config, options, std::move(group));
  std::vector<RowLogits> all;
  for (const std::vector<RowLogits>& rows : engine.RunTogether(SequencesOf(config))) {
    all.insert(all.end(), rows.begin(), rows.end());
  }
  return all;
}

/// Runs the layouts for which the job has enough ranks, and the model enough heads. Returns the
/// results of one rank.
std::vector<RowLogits> ExpectSameBits(const std::filesystem::path& dir,
                                      const proto::ModelConfig& config, Engine::Options options,
                                      std::span<const Layout> layouts) {
  const proto::Communicator world = proto::Communicator::World();
  std::vector<RowLogits> expected;
  for (const Layout& layout : layouts) {
    if (layout.ranks > world.size() || layout.ranks > config.num_attention_heads) {
      continue;
    }
    const std::vector<RowLogits> found = ResultsOn(layout, dir, config, options);
    if (!world.is_root()) {
      continue;
    }
    if (layout.ranks == 1) {
      EXPECT_FALSE(found.empty());
      expected = found;
    }
    EXPECT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_TRUE(SameBits(found[i], expected[i]))
          << "read " << i << " on " << layout.ranks << " ranks, " << layout.ranks_a_host
          << " a host";
    }
  }
  return expected;
}

using PrecisionAndModel = std::pair<Precision, std::string>;

std::string NameOf(const ::testing::TestParamInfo<PrecisionAndModel>& test) {
  const auto& [precision, path] = test.param;
  return PrecisionAndFamily(precision, path.substr(path.find('/') + 1));
}

class GoldenModel : public ::testing::TestWithParam<PrecisionAndModel> {
 protected:
  void ExpectSameBitsOn(std::span<const Layout> layouts) const {
    const std::filesystem::path dir = kGolden / GetParam().second;
    ExpectSameBits(dir, proto::LoadModelConfig(dir), {.precision = GetParam().first}, layouts);
  }
};

class RankInvariance : public GoldenModel {};

TEST_P(RankInvariance, AnyNumberOfRanksGivesTheSameBits) { ExpectSameBitsOn(kOneHost); }

// Eight heads share four K/V heads; nine share three. The others are an encoder and a decoder that
// pool rows.
INSTANTIATE_TEST_SUITE_P(
    All, RankInvariance,
    ::testing::Values(PrecisionAndModel(Precision::kFloat32, "families/qwen3"),
                      PrecisionAndModel(Precision::kBfloat16, "families/qwen3"),
                      PrecisionAndModel(Precision::kInt8, "families/llama-nine-heads"),
                      PrecisionAndModel(Precision::kInt8, "encoders/bert-embed"),
                      PrecisionAndModel(Precision::kBfloat16, "encoders/qwen3-embed")),
    &NameOf);

/// Takes longer.
class MoreRankInvariance : public GoldenModel {};

TEST_P(MoreRankInvariance, AnyNumberOfRanksAndHostsGivesTheSameBits) {
  ExpectSameBitsOn(kOneHost);
  ExpectSameBitsOn(kSeveralHosts);
}

std::vector<PrecisionAndModel> AllModels() {
  std::vector<PrecisionAndModel> all;
  for (const Precision precision : {Precision::kFloat32, Precision::kBfloat16, Precision::kInt8}) {
    for (const char* model : {"families/qwen3", "families/llama-nine-heads", "families/gemma2",
                              "families/qwen3-classifier", "encoders/bert-embed",
                              "encoders/modernbert-classifier", "encoders/qwen3-embed"}) {
      all.emplace_back(precision, model);
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, MoreRankInvariance, ::testing::ValuesIn(AllModels()), &NameOf);
/// A model whose products have several chunks, whose vocabulary has several blocks, and whose
/// intermediate blocks differ in size.
class WideModel {
 public:
  WideModel() {
    reference::RandomCheckpoint checkpoint;
    checkpoint.config = reference::TinyConfig("llama");
    checkpoint.config.num_attention_heads = 8;
    checkpoint.config.num_key_value_heads = 2;
    checkpoint.config.head_dim = 32;
    checkpoint.config.hidden_size = 288;
    checkpoint.config.intermediate_size = 2000;
    checkpoint.config.vocab_size = 2573;
    checkpoint.seed = 50;
    reference::WriteRandomCheckpoint(dir_.path(), checkpoint);
  }

  const std::filesystem::path& path() const { return dir_.path(); }

 private:
  reference::TempDirectory dir_;
};

class WideRankInvariance : public ::testing::TestWithParam<Precision> {};

TEST_P(WideRankInvariance, AnyNumberOfRanksGivesTheSameBits) {
  const WideModel model;
  const proto::ModelConfig config = proto::LoadModelConfig(model.path());
  const auto found = ExpectSameBits(model.path(), config, {.precision = GetParam()}, kSeveralHosts);
  if (!proto::Communicator::World().is_root() || GetParam() != Precision::kFloat32) {
    return;
  }
  const PackedSequence sequence = ScoredSequence(config);
  std::vector<std::int32_t> rows;
  for (const proto::RowRead& read : sequence.reads) {
    rows.push_back(read.row);
  }
  const StoredOracle oracle(model.path());
  const auto expected =
      oracle.Logits(sequence.tokens, sequence.segments, rows, sequence.block_weighting);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::vector<double> log_probs = reference::LogSoftmax(expected[i]);
    const std::vector<double> labels = LabelLogProbs(found[i]);
    for (std::size_t l = 0; l < labels.size(); ++l) {
      EXPECT_NEAR(labels[l], log_probs[static_cast<std::size_t>(sequence.label_lists[0][l])], 2e-4);
    }
  }
}

// Otherwise the tests above would show nothing.
TEST_P(WideRankInvariance, WithoutBlocksTheBitsDiffer) {
  const WideModel model;
  const proto::ModelConfig config = proto::LoadModelConfig(model.path());
  const auto results_on = [&](int ranks) {
    return ResultsOn({ranks}, model.path(), config, {.precision = GetParam()},
                     proto::Sharding::kEven);
  };
  const std::vector<RowLogits> of_one = results_on(1);
  const std::vector<RowLogits> of_three = results_on(3);
  for (std::size_t i = 0; i < of_one.size(); ++i) {
    EXPECT_FALSE(SameBits(of_one[i], of_three[i])) << "read " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, WideRankInvariance,
                         ::testing::Values(Precision::kFloat32, Precision::kBfloat16,
                                           Precision::kInt8),
                         [](const auto& test) { return std::string(Name(test.param)); });

}  // namespace rank_invariance_test
}  // namespace scorecast::testing

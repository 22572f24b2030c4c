// Every precision against the oracle. The allowed error of a precision is the oracle's own error if
// it rounds at the places at which the engine rounds (reference::Rounding). The two do not round to
// the same bits, because a last digit of float32 may decide whether a number is rounded up or down,
// but their errors have the same size.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/model/model_config.h"
#include "proto/model/token_id.h"
#include "proto/mpi/communicator.h"
#include "tests/mpi/engine_harness.h"
#include "tests/mpi/stored_oracle.h"
#include "tests/reference/directories.h"
#include "tests/reference/golden_directories.h"
#include "tests/reference/log_probabilities.h"
#include "tests/reference/random_checkpoint.h"
#include "tests/reference/reference_config.h"
#include "tests/reference/temp_directory.h"
#include "tests/shard/kernels/kernel_sets.h"

namespace scorecast::testing {
namespace engine_precision_test {

using proto::ModelConfig;
using proto::PackedSequence;
using proto::RowLogits;
using proto::TokenId;
using shard::Precision;

constexpr Precision kPrecisions[] = {Precision::kFloat32, Precision::kBfloat16, Precision::kInt8};

std::filesystem::path Family(std::string_view name) {
  return std::filesystem::path(reference::kTestsDirectory) / "golden/families" / name;
}

/// A query and items. Every row is read, and the labels are spread over the vocabulary.
PackedSequence EveryRow(std::int64_t vocab_size) {
  const auto tokens = [&](std::uint64_t seed, std::size_t count) {
    return reference::RandomTokens(seed, count, vocab_size);
  };
  std::vector<TokenId> labels;
  for (TokenId id = 0; id < vocab_size; id += 16) {
    labels.push_back(id);
  }
  PackedSequence sequence =
      ItemsSequence(tokens(1, 70), {tokens(2, 20), tokens(3, 1), tokens(4, 7)}, labels);
  sequence.reads.clear();
  for (std::int32_t row = 0; row < sequence.rows(); ++row) {
    sequence.reads.push_back({row, 0, true, 0});
  }
  return sequence;
}

/// Log-probabilities of the labels of every read: [reads * labels].
std::vector<double> LogProbsOf(const StoredOracle& model, const PackedSequence& sequence) {
  std::vector<std::int32_t> rows;
  for (const proto::RowRead& read : sequence.reads) {
    rows.push_back(read.row);
  }
  std::vector<double> found;
  for (const auto& logits : model.Logits(sequence.tokens, sequence.segments, rows)) {
    const std::vector<double> log_probs = reference::LogSoftmax(logits);
    for (const TokenId id : sequence.label_lists[0]) {
      found.push_back(log_probs[static_cast<std::size_t>(id)]);
    }
  }
  return found;
}

struct Errors {
  double mean = 0;
  double rms = 0;
  double most = 0;  // 99 % are not larger.
  double largest = 0;
};

Errors ErrorsOf(const std::vector<double>& found, const std::vector<double>& exact) {
  std::vector<double> sizes;
  Errors errors;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double error = sizes.emplace_back(std::abs(found[i] - exact[i]));
    errors.mean += error / static_cast<double>(exact.size());
    errors.rms += error * error / static_cast<double>(exact.size());
  }
  errors.rms = std::sqrt(errors.rms);
  std::ranges::sort(sizes);
  errors.most = sizes[sizes.size() * 99 / 100];
  errors.largest = sizes.back();
  return errors;
}

// Both errors have the same distribution and about 98 independent samples, one for each row. Each
// RMS scatters by 1/√(2 · 98) = 7 %. This allows four times as much.
constexpr double kMostRatio = 1.3;
// The largest error of a sample scatters more.
constexpr double kMostRatioOfLargest = 2;

/// The engine's log-probabilities, in the same order. Empty on ranks other than 0.
std::vector<double> LogProbsOf(Engine& engine, const PackedSequence& sequence) {
  std::vector<double> found;
  for (const auto& rows : engine.RunTogether({sequence})) {
    for (const RowLogits& row : rows) {
      const std::vector<double> log_probs = LabelLogProbs(row);
      found.insert(found.end(), log_probs.begin(), log_probs.end());
    }
  }
  return found;
}

/// Expects that the engine's errors on a model are those of its rounding.
void ExpectErrorsOfRounding(const std::filesystem::path& model, const ModelConfig& config,
                            const ModelConfig& oracle_config, Precision precision) {
  if (config.num_attention_heads < proto::Communicator::World().size()) {
    GTEST_SKIP() << "more ranks than heads";
  }
  Engine engine(model, config, {.precision = precision});
  const PackedSequence sequence = EveryRow(engine.config().vocab_size);
  const std::vector<double> found = LogProbsOf(engine, sequence);
  if (!engine.is_root()) {
    return;
  }
  const reference::Rounding rounding = {
      precision == Precision::kInt8 ? reference::Precision::kInt8 : reference::Precision::kBfloat16,
      /*summands=*/engine.ranks() > 1};
  const std::vector<double> exact = LogProbsOf(StoredOracle(model, oracle_config), sequence);
  const std::vector<double> rounded =
      LogProbsOf(StoredOracle(model, oracle_config, rounding), sequence);
  ASSERT_EQ(found.size(), exact.size());
  const Errors of_engine = ErrorsOf(found, exact);
  const Errors of_rounding = ErrorsOf(rounded, exact);
  EXPECT_LE(of_engine.rms, kMostRatio * of_rounding.rms);
  EXPECT_LE(of_engine.largest, kMostRatioOfLargest * of_rounding.largest);
  // The engine does not use a better, slower precision. Half is allowed, because each of several
  // ranks rounds its own part of a row to int8 with a finer scale.
  EXPECT_GE(of_engine.rms, of_rounding.rms / 2);
}

/// Like the function above, for a directory with a config.json, which engine and oracle read
/// independently.
void ExpectErrorsOfRounding(const std::filesystem::path& model, Precision precision) {
  ExpectErrorsOfRounding(model, proto::LoadModelConfig(model),
                         reference::ReadReferenceConfig(model), precision);
}

TEST(ChosenArithmetic, ChoosesTheSameOnEveryRank) {
  const auto group = proto::Communicator::World();
  for (const Precision precision : kPrecisions) {
    const auto [features, products] = shard::AgreeOnArithmetic(group, FeaturesOfTests(), precision);
    EXPECT_EQ(products.layers, precision);
    EXPECT_TRUE(products.layer_backend->supports(products.layers, features));
    EXPECT_TRUE(products.lm_head_backend->supports(products.lm_head, features));
    const shard::BackendEntry* first = shard::Backends().data();
    for (const int value : {features.bits(), static_cast<int>(products.lm_head),
                            static_cast<int>(products.layer_backend - first),
                            static_cast<int>(products.lm_head_backend - first)}) {
      EXPECT_THAT(group.AllGather(value), ::testing::Each(value));
    }
  }
}

class EnginePrecision : public ::testing::TestWithParam<std::tuple<Precision, std::string_view>> {};

TEST_P(EnginePrecision, ErrorIsThatOfTheRounding) {
  const auto [precision, family] = GetParam();
  ExpectErrorsOfRounding(Family(family), precision);
}

INSTANTIATE_TEST_SUITE_P(All, EnginePrecision,
                         ::testing::Combine(::testing::Values(Precision::kBfloat16,
                                                              Precision::kInt8),
                                            ::testing::ValuesIn(reference::kGoldenFamilies)),
                         [](const auto& test) {
                           return PrecisionAndFamily(std::get<0>(test.param),
                                                     std::get<1>(test.param));
                         });

/// Cells of a row: of float32 the largest error, else the mean, the 99th percentile and the
/// largest.
std::string CellsOf(Precision precision, const Errors& errors) {
  char cells[64];
  if (precision == Precision::kFloat32) {
    EXPECT_LE(errors.largest, 1e-4);
    std::snprintf(cells, sizeof(cells), " | %.0e", errors.largest);
  } else {
    std::snprintf(cells, sizeof(cells), " | %.3f | %.2f | %.2f", errors.mean, errors.most,
                  errors.largest);
  }
  return cells;
}

class EngineFigures : public ::testing::TestWithParam<std::string_view> {};

// Prints the rows of a table in docs/numerics.md:
//   engine_precision_test --gtest_filter='*Figures*' | grep '^|'
TEST_P(EngineFigures, Errors) {
  const std::filesystem::path model = Family(GetParam());
  const StoredOracle oracle(model);
  if (oracle.config().num_attention_heads < proto::Communicator::World().size()) {
    GTEST_SKIP() << "more ranks than heads";
  }
  const PackedSequence sequence = EveryRow(oracle.config().vocab_size);
  std::string row = "| " + std::string(GetParam());
  for (const Precision precision : kPrecisions) {
    Engine engine(model, {.precision = precision});
    const std::vector<double> found = LogProbsOf(engine, sequence);
    if (!engine.is_root()) {
      continue;
    }
    row += CellsOf(precision, ErrorsOf(found, LogProbsOf(oracle, sequence)));
  }
  if (proto::Communicator::World().is_root()) {
    std::printf("%s |\n", row.c_str());
  }
}

INSTANTIATE_TEST_SUITE_P(All, EngineFigures, ::testing::ValuesIn(reference::kGoldenFamilies));

class KernelSetFigures : public ::testing::TestWithParam<shard::KernelSet> {};

// Prints the rows of another table in docs/numerics.md, with the errors of all families together:
//   engine_precision_test --gtest_filter='*Figures*' | grep '^|'
TEST_P(KernelSetFigures, Errors) {
  const shard::CpuFeatures features = GetParam().needs;
  if (!shard::DetectCpuFeatures().Contain(features)) {
    GTEST_SKIP() << "this CPU has no " << shard::Names(features - shard::DetectCpuFeatures());
  }
  if (proto::Communicator::World().size() > 1) {
    GTEST_SKIP() << "the table is that of one rank";
  }
  std::vector<double> exact;
  std::map<Precision, std::vector<double>> found;
  for (const std::string_view family : reference::kGoldenFamilies) {
    const std::filesystem::path model = Family(family);
    const StoredOracle oracle(model);
    const PackedSequence sequence = EveryRow(oracle.config().vocab_size);
    std::ranges::copy(LogProbsOf(oracle, sequence), std::back_inserter(exact));
    for (const Precision precision : kPrecisions) {
      Engine engine(model, {.features = features, .precision = precision});
      std::ranges::copy(LogProbsOf(engine, sequence), std::back_inserter(found[precision]));
    }
  }
  std::string row = "| `" + std::string(GetParam().name) + "`";
  for (const Precision precision : kPrecisions) {
    row += CellsOf(precision, ErrorsOf(found[precision], exact));
  }
  std::printf("%s |\n", row.c_str());
}

// After the other suites, because the first engine limits oneDNN for all.
INSTANTIATE_TEST_SUITE_P(All, KernelSetFigures, ::testing::ValuesIn(shard::KernelSets()),
                         [](const auto& test) { return std::string(test.param.name); });

// Real models have channels a hundred times as large as the others.
TEST(EngineOutliers, DoNotReduceThePrecisionOfOtherChannels) {
  const reference::TempDirectory dir;  // Each rank has its own, with the same weights.
  reference::RandomCheckpoint checkpoint;
  checkpoint.config = reference::TinyConfig("llama");
  checkpoint.config.hidden_size = 64;
  checkpoint.seed = 4;
  checkpoint.outliers = 100;
  reference::WriteRandomCheckpoint(dir.path(), checkpoint);
  ExpectErrorsOfRounding(dir.path(), Precision::kBfloat16);
  ExpectErrorsOfRounding(dir.path(), Precision::kInt8);
}

// Layers whose windows, norms and RoPE tables differ, in ways that no family has. The first layer,
// an inner one and the last have norms behind attention, behind feed-forward, or both. The last
// layer computes only the rows that are read.
TEST(EngineLayers, HaveOptionsOfTheirOwn) {
  const reference::TempDirectory dir;  // Each rank has its own, with the same weights.
  reference::RandomCheckpoint checkpoint;
  checkpoint.config = reference::TinyConfig("llama");
  checkpoint.config.rope_tables = {{.theta = 1e4}, {.theta = 100.0}};
  checkpoint.config.layers = {
      {.rope_table = 1, .post_attention_norm = true, .post_feedforward_norm = true},
      {.rope_table = 0, .sliding_window = 20, .qk_norm = true},
      {.rope_table = 1, .post_feedforward_norm = true},
      {.rope_table = 0,
       .sliding_window = 70,
       .post_attention_norm = true,
       .post_feedforward_norm = true}};
  checkpoint.config.attention_output_bias = true;  // Added to the sum before it is normalised.
  checkpoint.config.mlp_bias = true;
  reference::WriteRandomWeights(dir.path(), checkpoint);
  ExpectErrorsOfRounding(dir.path(), checkpoint.config, checkpoint.config, Precision::kBfloat16);
  ExpectErrorsOfRounding(dir.path(), checkpoint.config, checkpoint.config, Precision::kInt8);
  if (::testing::Test::IsSkipped()) {
    return;
  }
  Engine engine(dir.path(), checkpoint.config, {.precision = Precision::kFloat32});
  const PackedSequence sequence = EveryRow(engine.config().vocab_size);
  const std::vector<double> found = LogProbsOf(engine, sequence);
  if (engine.is_root()) {
    EXPECT_THAT(found, ::testing::Pointwise(
                           ::testing::DoubleNear(1e-4),
                           LogProbsOf(StoredOracle(dir.path(), checkpoint.config), sequence)));
  }
}

}  // namespace engine_precision_test
}  // namespace scorecast::testing

// Encoders: final rows and class logits agree with transformers' and with the oracle on any number
// of ranks. They have the same bits in any company.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "tests/mpi/engine_harness.h"
#include "tests/mpi/stored_oracle.h"
#include "tests/reference/directories.h"
#include "tests/reference/golden_cases.h"
#include "tests/reference/golden_directories.h"
#include "tests/reference/random_checkpoint.h"

namespace scorecast::testing {
namespace engine_encoder_test {

using proto::PackedSequence;
using proto::RowLogits;
using proto::TokenId;
using shard::Precision;

const std::filesystem::path kGolden = std::string(reference::kTestsDirectory) + "/golden/encoders";

/// A text whose rows are pooled.
PackedSequence TextSequence(const std::vector<TokenId>& ids,
                            const std::vector<std::uint8_t>& types) {
  const auto rows = static_cast<std::int32_t>(ids.size());
  PackedSequence sequence;
  sequence.tokens = ids;
  sequence.token_types = types;
  sequence.segments = {{proto::SegmentKind::kPrefix, rows, 0}};
  sequence.reads = {{.row = rows - 1, .first_row = 0}};
  return sequence;
}

/// A text whose rows are all read as they are.
PackedSequence RawSequence(const std::vector<TokenId>& ids,
                           const std::vector<std::uint8_t>& types) {
  PackedSequence sequence = TextSequence(ids, types);
  sequence.reads.clear();
  for (std::int32_t row = 0; row < static_cast<std::int32_t>(ids.size()); ++row) {
    sequence.reads.push_back({.row = row, .first_row = row, .raw = true});
  }
  return sequence;
}

/// What the model says of a text: class logits or an embedding.
const std::vector<float>& ResultOf(const RowLogits& row) {
  return row.label_logits.empty() ? row.embedding : row.label_logits;
}

void ExpectNear(const std::vector<float>& found, const std::vector<double>& expected,
                double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], expected[i], tolerance) << "value " << i;
  }
}

/// A text and its figures.
struct Golden {
  std::vector<TokenId> ids;
  std::vector<std::uint8_t> types;
  std::vector<double> result;
};

class EncoderGolden : public ::testing::TestWithParam<reference::GoldenDirectory> {
 protected:
  /// All texts share passes.
  void ExpectFigures(const proto::ModelConfig& config, const std::vector<Golden>& texts) {
    const std::filesystem::path dir = GetParam().path;
    const double tolerance = reference::ToleranceOf(GetParam());
    Engine engine(dir, config, {.max_rows = 2048});
    const reference::HiddenCase hidden = reference::LoadHiddenGolden(dir);
    std::vector<PackedSequence> sequences = {RawSequence(hidden.ids, hidden.types)};
    for (const Golden& text : texts) {
      sequences.push_back(TextSequence(text.ids, text.types));
    }
    const auto found = engine.RunTogether(sequences);
    if (!engine.is_root()) {
      return;
    }
    ASSERT_FALSE(texts.empty());
    for (std::size_t row = 0; row < hidden.ids.size(); ++row) {
      SCOPED_TRACE("hidden row " + std::to_string(row));
      ExpectNear(found[0][row].embedding, hidden.last_hidden[row], tolerance);
    }
    for (std::size_t i = 0; i < texts.size(); ++i) {
      SCOPED_TRACE("text " + std::to_string(i) + " of " + std::to_string(texts[i].ids.size()));
      ExpectNear(ResultOf(found[i + 1][0]), texts[i].result, tolerance);
    }
  }
};

class EncoderClassifier : public EncoderGolden {};

TEST_P(EncoderClassifier, HiddenRowsAndClassLogits) {
  std::vector<Golden> texts;
  for (const reference::TextClassifierCase& golden :
       reference::LoadTextClassifierGolden(GetParam().path)) {
    texts.push_back({golden.ids, golden.types, golden.class_logits});
  }
  ExpectFigures(proto::LoadModelConfig(GetParam().path), texts);
}

INSTANTIATE_TEST_SUITE_P(
    All, EncoderClassifier,
    ::testing::ValuesIn(reference::FindEncoderDirectories(std::string(reference::kTestsDirectory) +
                                                          "/golden")
                            .classifiers));

class EncoderEmbedder : public EncoderGolden {};

TEST_P(EncoderEmbedder, HiddenRowsAndTheirMean) {
  std::vector<Golden> texts;
  for (const reference::EmbeddingCase& golden : reference::LoadEmbeddingGolden(GetParam().path)) {
    texts.push_back({golden.ids, golden.types, golden.mean});
  }
  proto::ModelConfig config = proto::LoadModelConfig(GetParam().path);
  config.read_head = {.pooling = {proto::Pooling::kMean}, .output_size = config.hidden_size};
  ExpectFigures(config, texts);
}

INSTANTIATE_TEST_SUITE_P(
    All, EncoderEmbedder,
    ::testing::ValuesIn(reference::FindEncoderDirectories(std::string(reference::kTestsDirectory) +
                                                          "/golden")
                            .embedders));

/// Texts of many lengths, with token types if the model has any, and with padding ids among them.
std::vector<Golden> RandomTexts(const proto::ModelConfig& config) {
  std::vector<Golden> texts;
  for (const std::size_t length : {5U, 1U, 64U, 33U, 90U, 2U, 17U}) {
    Golden& text = texts.emplace_back();
    text.ids = reference::RandomTokens(length, length, config.vocab_size);
    for (std::size_t i = 0; config.type_vocab_size > 1 && i < length; ++i) {
      text.types.push_back(i > length / 2 ? 1 : 0);
    }
    if (config.learned_positions && config.learned_positions->padding && length > 5) {
      text.ids[3] = *config.learned_positions->padding;
      text.ids[length - 1] = *config.learned_positions->padding;
    }
  }
  return texts;
}

/// Final rows of the texts, one after the other: [rows][hidden_size]. Empty on ranks other than 0.
std::vector<std::vector<float>> RowsOf(Engine& engine, const std::vector<Golden>& texts) {
  std::vector<PackedSequence> sequences;
  for (const Golden& text : texts) {
    sequences.push_back(RawSequence(text.ids, text.types));
  }
  std::vector<std::vector<float>> rows;
  for (const auto& of_text : engine.RunTogether(sequences)) {
    for (const RowLogits& row : of_text) {
      rows.push_back(row.embedding);
    }
  }
  return rows;
}

std::vector<std::vector<double>> RowsOf(const StoredOracle& oracle,
                                        const std::vector<Golden>& texts) {
  std::vector<std::vector<double>> rows;
  for (const Golden& text : texts) {
    const PackedSequence sequence = RawSequence(text.ids, text.types);
    std::vector<std::int32_t> all;
    for (const proto::RowRead& read : sequence.reads) {
      all.push_back(read.row);
    }
    for (auto& row : oracle.FinalRows(text.ids, sequence.segments, all, {}, text.types)) {
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

void ExpectTheOracle(const std::string& name, const proto::ModelConfig& config) {
  Engine engine(kGolden / name, config, {});
  const std::vector<Golden> texts = RandomTexts(config);
  const auto found = RowsOf(engine, texts);
  if (!engine.is_root()) {
    return;
  }
  const auto expected = RowsOf(StoredOracle(kGolden / name, config), texts);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t row = 0; row < found.size(); ++row) {
    SCOPED_TRACE("row " + std::to_string(row));
    ExpectNear(found[row], expected[row], 5e-5);
  }
}

TEST(EncoderOptions, EveryActivation) {
  for (const std::string name : {"bert-classifier-labels", "modernbert-classifier"}) {
    proto::ModelConfig config = proto::LoadModelConfig(kGolden / name);
    for (const proto::Activation activation :
         {proto::Activation::kSilu, proto::Activation::kGelu, proto::Activation::kGeluTanh,
          proto::Activation::kRelu}) {
      SCOPED_TRACE(name + " " + std::to_string(static_cast<int>(activation)));
      config.hidden_activation = activation;
      ExpectTheOracle(name, config);
    }
  }
}

TEST(EncoderOptions, EveryWindow) {
  proto::ModelConfig config = proto::LoadModelConfig(kGolden / "modernbert-classifier");
  for (const std::int64_t window : {1, 2, 33, 65, 1000}) {
    SCOPED_TRACE("window " + std::to_string(window));
    config.layers[0].sliding_window = window;
    config.layers[1].sliding_window = window + 1;
    ExpectTheOracle("modernbert-classifier", config);
  }
}

TEST(EncoderOptions, PaddingInsideOfATextDoesNotCount) {
  ExpectTheOracle("roberta-classifier", proto::LoadModelConfig(kGolden / "roberta-classifier"));
}

using PrecisionAndName = std::tuple<Precision, std::string>;

class EncoderPrecision : public ::testing::TestWithParam<PrecisionAndName> {};

/// Root mean square of the differences.
template <typename Found>
double Rms(const std::vector<std::vector<Found>>& found,
           const std::vector<std::vector<double>>& exact) {
  double squares = 0;
  double count = 0;
  for (std::size_t row = 0; row < exact.size(); ++row) {
    for (std::size_t i = 0; i < exact[row].size(); ++i, ++count) {
      squares += std::pow(static_cast<double>(found[row][i]) - exact[row][i], 2);
    }
  }
  return std::sqrt(squares / count);
}

/// Largest of the differences.
template <typename Found>
double Largest(const std::vector<std::vector<Found>>& found,
               const std::vector<std::vector<double>>& exact) {
  double largest = 0;
  for (std::size_t row = 0; row < exact.size(); ++row) {
    for (std::size_t i = 0; i < exact[row].size(); ++i) {
      largest = std::max(largest, std::abs(static_cast<double>(found[row][i]) - exact[row][i]));
    }
  }
  return largest;
}

// The errors are those of a plain implementation that rounds in the same places.
TEST_P(EncoderPrecision, ErrorIsThatOfRounding) {
  const auto& [precision, name] = GetParam();
  const proto::ModelConfig config = proto::LoadModelConfig(kGolden / name);
  Engine engine(kGolden / name, config, {.precision = precision});
  const std::vector<Golden> texts = RandomTexts(config);
  const auto found = RowsOf(engine, texts);
  if (!engine.is_root()) {
    return;
  }
  const auto exact = RowsOf(StoredOracle(kGolden / name), texts);
  const reference::Rounding rounding = {
      precision == Precision::kInt8 ? reference::Precision::kInt8 : reference::Precision::kBfloat16,
      /*summands=*/engine.ranks() > 1};
  const double of_rounding = Rms(RowsOf(StoredOracle(kGolden / name, rounding), texts), exact);
  EXPECT_LE(Rms(found, exact), 1.3 * of_rounding);
  EXPECT_GE(Rms(found, exact), of_rounding / 2);
}

class EncoderBits : public ::testing::TestWithParam<PrecisionAndName> {};

// What is around a text in its pass changes no bit, and neither do threads and the order of texts.
TEST_P(EncoderBits, InAnyCompany) {
  const auto& [precision, name] = GetParam();
  const proto::ModelConfig config = proto::LoadModelConfig(kGolden / name);
  Engine engine(kGolden / name, config, {.max_rows = 1024, .precision = precision});
  std::vector<PackedSequence> texts;
  for (const Golden& text : RandomTexts(config)) {
    texts.push_back(TextSequence(text.ids, text.types));
    texts.push_back(RawSequence(text.ids, text.types));
  }
  const auto together = engine.RunTogether(texts);
  const std::vector<PackedSequence> reversed(texts.rbegin(), texts.rend());
  Engine other(kGolden / name, config, {.threads = 3, .max_rows = 1024, .precision = precision});
  const auto backwards = other.RunTogether(reversed);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    SCOPED_TRACE("text " + std::to_string(i));
    const auto alone = engine.RunTogether({texts[i]});
    if (!engine.is_root()) {
      continue;
    }
    ASSERT_EQ(alone[0].size(), texts[i].reads.size());
    for (std::size_t read = 0; read < alone[0].size(); ++read) {
      EXPECT_TRUE(SameBits(together[i][read], alone[0][read])) << read;
      EXPECT_TRUE(SameBits(backwards[texts.size() - 1 - i][read], alone[0][read])) << read;
    }
  }
}

// Texts that share a pass are computed in two parts in turn if their rows travel between hosts.
TEST_P(EncoderBits, OnHosts) {
  const auto& [precision, name] = GetParam();
  const proto::ModelConfig config = proto::LoadModelConfig(kGolden / name);
  std::vector<PackedSequence> texts;
  for (const Golden& text : RandomTexts(config)) {
    texts.insert(texts.end(), 2, TextSequence(text.ids, text.types));
  }
  Engine engine(kGolden / name, config, {.max_rows = 1024, .precision = precision});
  Engine other(kGolden / name, config,
               {.max_rows = 1024, .precision = precision, .ranks_a_host = 1});
  const auto on_one = engine.RunTogether(texts);
  const auto on_hosts = other.RunTogether(texts);
  for (std::size_t i = 0; i < on_one.size(); ++i) {
    EXPECT_TRUE(SameBits(on_hosts[i][0], on_one[i][0])) << "text " << i;
  }
}

class EncoderSteps : public ::testing::TestWithParam<PrecisionAndName> {};

// A text has the same bits in one pass and in steps, however it is cut.
TEST_P(EncoderSteps, OfTheSameBits) {
  const auto& [precision, name] = GetParam();
  proto::ModelConfig config = proto::LoadModelConfig(kGolden / name);
  if (config.is_embedder()) {
    config.read_head = {.pooling = {proto::Pooling::kCls, proto::Pooling::kMax,
                                    proto::Pooling::kMean, proto::Pooling::kLast},
                        .output_size = 4 * config.hidden_size};
  }
  const std::int32_t layers = static_cast<std::int32_t>(config.num_hidden_layers());
  Engine engine(kGolden / name, config, {.precision = precision});
  // The longer text leaves K/V and residuals behind.
  for (const Golden& text : RandomTexts(config)) {
    const auto rows = static_cast<std::int32_t>(text.ids.size());
    PackedSequence first = TextSequence(text.ids, text.types);
    first.reads = {{.row = 0, .first_row = 0}};
    PackedSequence inner = TextSequence(text.ids, text.types);
    inner.reads = {{.row = rows - 1, .first_row = rows / 2}};
    for (const PackedSequence& sequence :
         {TextSequence(text.ids, text.types), RawSequence(text.ids, text.types), first, inner}) {
      const auto whole = engine.RunTogether({sequence});
      for (const coordinator::TextCut& cut : std::vector<coordinator::TextCut>{
               {rows, 1}, {rows, 2}, {rows, layers + 1}, {33, 1}, {16, 1}, {7, 1}}) {
        if (cut.rows > rows) {
          continue;
        }
        SCOPED_TRACE(std::to_string(rows) + " rows in steps of " + std::to_string(cut.rows) +
                     " rows and " + std::to_string(cut.stages) + " stages");
        const auto in_steps = engine.RunInSteps({{sequence, cut}});
        if (!engine.is_root()) {
          continue;
        }
        ASSERT_EQ(in_steps[0].size(), whole[0].size());
        for (std::size_t read = 0; read < whole[0].size(); ++read) {
          EXPECT_TRUE(SameBits(in_steps[0][read], whole[0][read])) << read;
        }
      }
    }
  }
}

// Texts that take turns with their steps have the same bits as alone, wherever they wait.
TEST_P(EncoderSteps, OfTheSameBitsBesideOtherTexts) {
  const auto& [precision, name] = GetParam();
  const proto::ModelConfig config = proto::LoadModelConfig(kGolden / name);
  const std::int32_t layers = static_cast<std::int32_t>(config.num_hidden_layers());
  Engine engine(kGolden / name, config, {.precision = precision});
  // Rows of the steps, for which they are next in turn at different stages. 0: all rows.
  constexpr std::int32_t kCutRows[] = {16, 0, 7, 33, 5};
  std::vector<Engine::TextInSteps> texts;
  std::vector<PackedSequence> sequences;
  std::int32_t first_row = 0;
  for (const Golden& text : RandomTexts(config)) {
    const auto rows = static_cast<std::int32_t>(text.ids.size());
    const std::int32_t cut = kCutRows[texts.size() % std::size(kCutRows)];
    sequences.push_back(texts.size() % 2 == 0 ? RawSequence(text.ids, text.types)
                                              : TextSequence(text.ids, text.types));
    texts.push_back({sequences.back(),
                     cut == 0 || cut > rows ? coordinator::TextCut{rows, (layers + 2) / 2}
                                            : coordinator::TextCut{cut, 1},
                     first_row});
    first_row += (rows + proto::kKvPageRows - 1) / proto::kKvPageRows * proto::kKvPageRows;
  }
  // The last one ends with the buffers.
  texts.back().first_row = engine.limits().text_rows - proto::kKvPageRows;
  const auto beside_others = engine.RunInSteps(texts);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    SCOPED_TRACE("text " + std::to_string(i));
    const auto whole = engine.RunTogether({sequences[i]});
    if (!engine.is_root()) {
      continue;
    }
    ASSERT_EQ(beside_others[i].size(), whole[0].size());
    for (std::size_t read = 0; read < whole[0].size(); ++read) {
      EXPECT_TRUE(SameBits(beside_others[i][read], whole[0][read])) << read;
    }
  }
}

class EncoderLongText : public ::testing::TestWithParam<std::string> {};

// A text longer than a pass is computed in steps, and it is that of the oracle.
TEST_P(EncoderLongText, IsThatOfTheOracle) {
  constexpr std::size_t kRows = 600;
  proto::ModelConfig config = proto::LoadModelConfig(kGolden / GetParam());
  config.max_position_embeddings = 1024;  // The positions are rotations, so there is no table.
  const Golden text = {reference::RandomTokens(1, kRows, config.vocab_size), {}, {}};
  Engine engine(kGolden / GetParam(), config, {.max_rows = 256});
  const auto in_steps =
      engine.RunInSteps({{RawSequence(text.ids, {}), {.rows = 200, .stages = 1}, 1024}});
  if (!engine.is_root()) {
    return;
  }
  const std::vector<RowLogits>& found = in_steps[0];
  const auto exact = RowsOf(StoredOracle(kGolden / GetParam(), config), {text});
  const auto rounded = RowsOf(StoredOracle(kGolden / GetParam(), config,
                                           {reference::Precision::kFloat32, /*summands=*/true}),
                              {text});
  ASSERT_EQ(found.size(), kRows);
  std::vector<std::vector<float>> rows;
  for (const RowLogits& row : found) {
    rows.push_back(row.embedding);
  }
  // `rounded` rounds the factors of products only. The engine also rounds the sum of n products
  // after each of them, which gives an error sqrt(n / 2) times as large; a row has kRows keys.
  const double ratio = std::sqrt(1 + kRows / 2.0);
  EXPECT_LE(Rms(rows, exact), ratio * Rms(rounded, exact));
  EXPECT_LE(Largest(rows, exact), ratio * Largest(rounded, exact));
}

std::string NameOf(const ::testing::TestParamInfo<PrecisionAndName>& info) {
  return PrecisionAndFamily(std::get<0>(info.param), std::get<1>(info.param));
}

const auto kNames = ::testing::Values("bert-classifier-labels", "roberta-classifier",
                                      "electra-classifier", "modernbert-classifier");

INSTANTIATE_TEST_SUITE_P(
    All, EncoderPrecision,
    ::testing::Combine(::testing::Values(Precision::kBfloat16, Precision::kInt8), kNames), NameOf);
INSTANTIATE_TEST_SUITE_P(All, EncoderBits,
                         ::testing::Combine(::testing::Values(Precision::kFloat32,
                                                              Precision::kBfloat16,
                                                              Precision::kInt8),
                                            kNames),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(
    All, EncoderSteps,
    ::testing::Combine(::testing::Values(Precision::kFloat32, Precision::kBfloat16,
                                         Precision::kInt8),
                       ::testing::Values("bert-embed", "roberta-classifier",
                                         "modernbert-classifier", "llama-bidirectional-embed")),
    NameOf);
INSTANTIATE_TEST_SUITE_P(All, EncoderLongText,
                         ::testing::Values("llama-bidirectional-classifier",
                                           "modernbert-classifier"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace engine_encoder_test
}  // namespace scorecast::testing

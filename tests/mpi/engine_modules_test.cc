// Models with modules of sentence-transformers: vectors and scores agree with its figures and with
// the oracle on any number of ranks.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/schedule/pages/block_cache.h"
#include "tests/mpi/engine_harness.h"
#include "tests/mpi/stored_oracle.h"
#include "tests/reference/checkpoint_reader.h"
#include "tests/reference/directories.h"
#include "tests/reference/golden_cases.h"
#include "tests/reference/random_checkpoint.h"
#include "tests/reference/reference_head.h"
#include "tests/reference/temp_directory.h"

namespace scorecast::testing {
namespace engine_modules_test {

using nlohmann::json;
using proto::PackedSequence;
using proto::RowLogits;
using proto::TokenId;

/// Largest error of a number against figures in float64.
constexpr double kTolerance = 2e-5;

const std::filesystem::path kGolden = std::string(reference::kTestsDirectory) + "/golden/encoders";
/// Cls pooling, 2_Dense, 3_LayerNorm and 4_Dense, of 24 values, which make one score.
const std::filesystem::path kCrossEncoder = kGolden / "st-ettin-cross-encoder";
/// Mean and cls pooling of 24 values.
const std::filesystem::path kEmbedder = kGolden / "st-lengths";

/// A text whose rows are pooled.
PackedSequence TextSequence(const std::vector<TokenId>& ids) {
  const auto rows = static_cast<std::int32_t>(ids.size());
  PackedSequence sequence;
  sequence.tokens = ids;
  sequence.segments = {{proto::SegmentKind::kPrefix, rows, 0}};
  sequence.reads = {{.row = rows - 1, .first_row = 0}};
  return sequence;
}

void ExpectNear(const std::vector<float>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], expected[i], kTolerance) << "value " << i;
  }
}

TEST(ModulesGolden, ScoresOfACrossEncoder) {
  Engine engine(kCrossEncoder);
  EXPECT_TRUE(engine.config().is_classifier());
  EXPECT_EQ(engine.config().num_labels, 1);
  const auto texts = reference::LoadTextClassifierGolden(kCrossEncoder);
  ASSERT_FALSE(texts.empty());
  std::vector<PackedSequence> sequences;
  for (const reference::TextClassifierCase& text : texts) {
    sequences.push_back(TextSequence(text.ids));
  }
  const auto found = engine.RunTogether(sequences);
  for (std::size_t i = 0; i < found.size(); ++i) {
    SCOPED_TRACE("text " + std::to_string(i));
    ExpectNear(found[i][0].label_logits, texts[i].class_logits);
  }
}

void ExpectEmbeddings(const std::filesystem::path& dir) {
  Engine engine(dir);
  EXPECT_TRUE(engine.config().is_embedder());
  const auto texts = reference::LoadEmbeddingGolden(dir);
  ASSERT_FALSE(texts.empty());
  std::vector<PackedSequence> sequences;
  for (const reference::EmbeddingCase& text : texts) {
    sequences.push_back(TextSequence(text.ids));
  }
  const auto found = engine.RunTogether(sequences);
  for (std::size_t i = 0; i < found.size(); ++i) {
    SCOPED_TRACE("text " + std::to_string(i));
    ExpectNear(found[i][0].embedding, texts[i].embedding);
  }
}

TEST(ModulesGolden, PoolingsInTheirOrder) { ExpectEmbeddings(kEmbedder); }

// A repeated pooling, Dense, LayerNorm, Normalize, and a vector that is cut.
TEST(ModulesGolden, AllModulesOfAnEmbedder) { ExpectEmbeddings(kGolden / "st-modules"); }

/// A directory with a model and modules, which every rank makes for itself.
class ModelWithModules {
 public:
  /// Copies the files of another directory.
  explicit ModelWithModules(const std::filesystem::path& from) {
    std::filesystem::copy(from, dir_.path(), std::filesystem::copy_options::recursive);
  }
  /// Makes a random model.
  explicit ModelWithModules(const reference::RandomCheckpoint& checkpoint) {
    reference::WriteRandomCheckpoint(dir_.path(), checkpoint);
  }

  const std::filesystem::path& path() const { return dir_.path(); }

  /// Sets the modules behind the model. A folder of the CrossEncoder is copied.
  void SetModules(const json& poolings,
                  const std::vector<std::pair<std::string, std::string>>& behind,
                  const json& settings) const {
    json list = {{{"type", "sentence_transformers.models.Transformer"}, {"path", ""}},
                 {{"type", "sentence_transformers.models.Pooling"}, {"path", "pooling"}}};
    for (const auto& [type, folder] : behind) {
      list.push_back({{"type", "sentence_transformers.models." + type}, {"path", folder}});
      if (std::filesystem::exists(kCrossEncoder / folder)) {
        std::filesystem::copy(kCrossEncoder / folder, dir_.path() / folder);
      }
    }
    Write("modules.json", list);
    Write("pooling/config.json", {{"pooling_mode", poolings}});
    Write("config_sentence_transformers.json", settings);
  }

  /// What the modules make of a text.
  std::vector<double> Expected(const proto::ReadHead& head, const std::vector<TokenId>& ids) const {
    const PackedSequence text = TextSequence(ids);
    std::vector<std::int32_t> rows;
    for (std::int32_t row = 0; row < static_cast<std::int32_t>(ids.size()); ++row) {
      rows.push_back(row);
    }
    const StoredOracle oracle(dir_.path());
    return reference::ApplyReadHead(
        head, oracle.FinalRows(text.tokens, text.segments, rows),
        [&](const proto::HeadStep& step, const std::string& name) {
          return reference::ReadCheckpoint(dir_.path() / step.file.parent_path()).at(name).values;
        });
  }

 private:
  void Write(const std::string& name, const json& content) const {
    std::filesystem::create_directories((dir_.path() / name).parent_path());
    std::ofstream(dir_.path() / name) << content;
  }

  const reference::TempDirectory dir_;
};

/// Computes texts of several lengths, and expects what the oracle says.
void ExpectAgreement(const ModelWithModules& model) {
  Engine engine(model.path());
  const proto::ModelConfig& config = engine.config();
  std::vector<std::vector<TokenId>> texts;
  for (const std::size_t length : {1U, 2U, 17U, 64U, 90U}) {
    // Id 1 is the padding of the embedder.
    texts.push_back(reference::RandomTokens(length, length, config.vocab_size, /*avoid=*/1));
  }
  std::vector<PackedSequence> sequences;
  for (const std::vector<TokenId>& ids : texts) {
    sequences.push_back(TextSequence(ids));
  }
  const auto found = engine.RunTogether(sequences);
  for (std::size_t i = 0; i < found.size(); ++i) {
    SCOPED_TRACE("text " + std::to_string(i));
    const RowLogits& result = found[i][0];
    EXPECT_EQ(result.label_logits.empty(), config.is_embedder());
    ExpectNear(config.is_embedder() ? result.embedding : result.label_logits,
               model.Expected(*config.read_head, texts[i]));
  }
}

const json kOfCrossEncoder = {{"model_type", "CrossEncoder"}};

TEST(ModulesOracle, LayerNormOfAnEmbedder) {
  const ModelWithModules model(kEmbedder);
  model.SetModules("mean", {{"LayerNorm", "3_LayerNorm"}}, json::object());
  ExpectAgreement(model);
}

TEST(ModulesOracle, LayerNormBetweenOtherModules) {
  const ModelWithModules model(kEmbedder);
  model.SetModules("max",
                   {{"LayerNorm", "3_LayerNorm"}, {"Dense", "2_Dense"}, {"Normalize", "normalize"}},
                   {{"truncate_dim", 10}});
  ExpectAgreement(model);
}

TEST(ModulesOracle, RepeatedPoolings) {
  const ModelWithModules model(kEmbedder);
  model.SetModules({"lasttoken", "cls", "mean", "cls", "mean"}, {{"Normalize", "normalize"}},
                   json::object());
  ExpectAgreement(model);
}

TEST(ModulesOracle, CrossEncoderWithMeanPooling) {
  const ModelWithModules model(kEmbedder);
  model.SetModules("mean",
                   {{"Dense", "2_Dense"}, {"LayerNorm", "3_LayerNorm"}, {"Dense", "4_Dense"}},
                   kOfCrossEncoder);
  ExpectAgreement(model);
}

// A decoder, whose long texts take several passes.
TEST(ModulesOracle, CrossEncoderOfADecoder) {
  reference::RandomCheckpoint checkpoint;
  checkpoint.config = reference::TinyConfig("qwen3");
  checkpoint.config.hidden_size = 24;
  checkpoint.seed = 55;
  const ModelWithModules model(checkpoint);
  for (const char* pooling : {"lasttoken", "mean"}) {
    SCOPED_TRACE(pooling);
    const ModelWithModules copy(model.path());
    copy.SetModules(pooling,
                    {{"Dense", "2_Dense"}, {"LayerNorm", "3_LayerNorm"}, {"Dense", "4_Dense"}},
                    kOfCrossEncoder);
    ExpectAgreement(copy);

    Engine engine(copy.path());
    PackedSequence text = TextSequence(reference::RandomTokens(7, 300, engine.config().vocab_size));
    text.NarrowReads(engine.limits().pooled_rows);
    const auto whole = engine.RunTogether({text});
    proto::PlanLimits limits = engine.limits();
    limits.max_rows = 100;
    coordinator::BlockCache cache(limits.kept_kv_rows / proto::kKvPageRows, 0);
    const std::vector<RowLogits> parts = engine.RunInParts(text, cache, limits);
    if (engine.is_root()) {
      EXPECT_EQ(parts[0].label_logits.size(), 1U);
      EXPECT_TRUE(SameBits(parts[0], whole[0][0]));
    }
  }
}

}  // namespace engine_modules_test
}  // namespace scorecast::testing

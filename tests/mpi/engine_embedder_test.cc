// Embedders that are decoders: vectors agree with sentence-transformers' and with the oracle on any
// number of ranks. They have the same bits in any company, and in any number of passes.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

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
namespace engine_embedder_test {

using proto::PackedSequence;
using proto::Pooling;
using proto::RowLogits;
using proto::TokenId;
using shard::Precision;

/// Largest error of a number against the golden figures, which are float64's.
constexpr double kTolerance = 2e-5;

const std::filesystem::path kGolden = std::string(reference::kTestsDirectory) + "/golden/encoders";

const std::vector<std::string> kEmbedders = {"gemma3-bidirectional", "llama-bidirectional-embed",
                                             "qwen3-embed"};

/// Whether the golden model has a query head for each rank.
bool FitsRanks(const std::string& name) {
  return proto::LoadModelConfig(kGolden / name).num_attention_heads >=
         proto::Communicator::World().size();
}

/// A text, of which the rows from `first_row` on are pooled.
PackedSequence TextSequence(const std::vector<TokenId>& ids, std::int32_t first_row = 0) {
  const auto rows = static_cast<std::int32_t>(ids.size());
  PackedSequence sequence;
  sequence.tokens = ids;
  sequence.segments = {{proto::SegmentKind::kPrefix, rows, 0}};
  sequence.reads = {{.row = rows - 1, .first_row = first_row}};
  return sequence;
}

/// A text whose rows are all read as they are.
PackedSequence RawSequence(const std::vector<TokenId>& ids) {
  PackedSequence sequence = TextSequence(ids);
  sequence.reads.clear();
  for (std::int32_t row = 0; row < static_cast<std::int32_t>(ids.size()); ++row) {
    sequence.reads.push_back({.row = row, .first_row = row, .raw = true});
  }
  return sequence;
}

void ExpectNear(const std::vector<float>& found, const std::vector<double>& expected,
                double tolerance = kTolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], expected[i], tolerance) << "value " << i;
  }
}

TEST(EmbedderGolden, Embeddings) {
  for (const std::string& name : kEmbedders) {
    SCOPED_TRACE(name);
    if (!FitsRanks(name)) {
      continue;
    }
    Engine engine(kGolden / name);
    EXPECT_TRUE(engine.config().is_embedder());
    for (const reference::EmbeddingCase& golden : reference::LoadEmbeddingGolden(kGolden / name)) {
      const auto found = engine.RunTogether({TextSequence(golden.ids)});
      if (engine.is_root()) {
        ExpectNear(found[0][0].embedding, golden.embedding);
      }
    }
  }
}

// All poolings at once.
TEST(EmbedderGolden, Pooled) {
  for (const std::string& name : kEmbedders) {
    SCOPED_TRACE(name);
    if (!FitsRanks(name)) {
      continue;
    }
    proto::ModelConfig config = proto::LoadModelConfig(kGolden / name);
    config.read_head = {.pooling = {Pooling::kCls, Pooling::kMax, Pooling::kMean, Pooling::kLast},
                        .output_size = 4 * config.hidden_size};
    Engine engine(kGolden / name, config, {});
    for (const reference::EmbeddingCase& golden : reference::LoadEmbeddingGolden(kGolden / name)) {
      std::vector<double> expected;
      for (const auto* pooled : {&golden.cls, &golden.max, &golden.mean, &golden.last}) {
        expected.insert(expected.end(), pooled->begin(), pooled->end());
      }
      const auto found = engine.RunTogether({TextSequence(golden.ids)});
      if (engine.is_root()) {
        ExpectNear(found[0][0].embedding, expected);
      }
    }
  }
}

TEST(EmbedderGolden, ClassLogits) {
  const std::filesystem::path dir = kGolden / "llama-bidirectional-classifier";
  Engine engine(dir);
  for (const reference::TextClassifierCase& golden : reference::LoadTextClassifierGolden(dir)) {
    const auto found = engine.RunTogether({TextSequence(golden.ids)});
    if (engine.is_root()) {
      ExpectNear(found[0][0].label_logits, golden.class_logits);
    }
  }
}

/// A random model, whose weights every rank makes for itself, with a head that has none.
struct RandomEmbedder {
  explicit RandomEmbedder(std::vector<Pooling> pooling, const std::string& family = "llama") {
    reference::RandomCheckpoint checkpoint;
    checkpoint.config = reference::TinyConfig(family);
    checkpoint.seed = 40;
    reference::WriteRandomCheckpoint(dir.path(), checkpoint);
    config = proto::LoadModelConfig(dir.path());
    const auto values = static_cast<std::int64_t>(pooling.size()) * config.hidden_size;
    config.read_head = {.pooling = std::move(pooling), .output_size = values};
  }

  std::vector<TokenId> Tokens(std::uint64_t seed, std::size_t count) const {
    return reference::RandomTokens(seed, count, config.vocab_size);
  }

  const reference::TempDirectory dir;
  proto::ModelConfig config;
};

const std::vector<std::vector<Pooling>> kPoolings = {
    {Pooling::kCls},
    {Pooling::kMax},
    {Pooling::kMean},
    {Pooling::kLast},
    {Pooling::kCls, Pooling::kLast},
    {Pooling::kMean, Pooling::kCls, Pooling::kMean},
    {Pooling::kCls, Pooling::kMax, Pooling::kMean, Pooling::kLast}};

std::vector<std::int32_t> RowsFrom(std::int32_t first, std::size_t end) {
  std::vector<std::int32_t> rows;
  for (std::int32_t row = first; row < static_cast<std::int32_t>(end); ++row) {
    rows.push_back(row);
  }
  return rows;
}

TEST(RandomHeads, AgreeWithTheOracle) {
  for (const std::vector<Pooling>& pooling : kPoolings) {
    RandomEmbedder model(pooling);
    model.config.read_head->normalize = true;
    model.config.read_head->temperature = 0.4;
    Engine engine(model.dir.path(), model.config, {});
    const StoredOracle oracle(model.dir.path());
    for (const std::size_t length : {1U, 2U, 7U, 65U, 100U}) {
      for (const std::int32_t first_row : {0, 3}) {
        if (first_row >= static_cast<std::int32_t>(length)) {
          continue;
        }
        const PackedSequence text = TextSequence(model.Tokens(length, length), first_row);
        const auto found = engine.RunTogether({text});
        if (engine.is_root()) {
          const auto rows =
              oracle.FinalRows(text.tokens, text.segments, RowsFrom(first_row, length));
          ExpectNear(found[0][0].embedding,
                     reference::ApplyReadHead(*model.config.read_head, rows, {}));
        }
      }
    }
  }
}

// What is around a text in its pass changes no bit, and neither does the order of the texts.
class EmbedderBits : public ::testing::TestWithParam<Precision> {};

TEST_P(EmbedderBits, InAnyCompany) {
  RandomEmbedder model({Pooling::kCls, Pooling::kMax, Pooling::kMean, Pooling::kLast});
  Engine engine(model.dir.path(), model.config, {.max_rows = 1024, .precision = GetParam()});
  std::vector<PackedSequence> texts;
  for (const std::size_t length : {5U, 1U, 64U, 33U, 130U, 2U, 17U}) {
    texts.push_back(TextSequence(model.Tokens(length, length)));
    texts.push_back(RawSequence(model.Tokens(length, length)));
  }
  const auto together = engine.RunTogether(texts);
  std::vector<PackedSequence> reversed(texts.rbegin(), texts.rend());
  const auto backwards = engine.RunTogether(reversed);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    SCOPED_TRACE(i);
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

INSTANTIATE_TEST_SUITE_P(All, EmbedderBits,
                         ::testing::Values(Precision::kFloat32, Precision::kBfloat16,
                                           Precision::kInt8),
                         [](const auto& test) { return std::string(shard::Name(test.param)); });

// A text that takes several passes is pooled on from pass to pass.
TEST(EmbedderPasses, HaveTheBitsOfOne) {
  for (const std::vector<Pooling>& pooling : kPoolings) {
    RandomEmbedder model(pooling);
    Engine engine(model.dir.path(), model.config, {.max_rows = 512});
    for (const std::int32_t first_row : {0, 70}) {
      PackedSequence text = TextSequence(model.Tokens(1, 300), first_row);
      text.NarrowReads(engine.limits().pooled_rows);
      const auto whole = engine.RunTogether({text});
      for (const std::int32_t rows : {300, 128, 100, 33}) {
        proto::PlanLimits limits = engine.limits();
        limits.max_rows = rows;
        coordinator::BlockCache cache(limits.kept_kv_rows / proto::kKvPageRows, 0);
        const std::vector<RowLogits> parts = engine.RunInParts(text, cache, limits);
        if (engine.is_root()) {
          EXPECT_TRUE(SameBits(parts[0], whole[0][0])) << first_row << ", " << rows;
        }
      }
    }
  }
}

// Rows that are cached are computed again if they are pooled.
TEST(EmbedderPasses, HaveTheBitsOfTextsThatAreCached) {
  for (const std::vector<Pooling>& pooling : kPoolings) {
    RandomEmbedder model(pooling);
    Engine engine(model.dir.path(), model.config, {.max_rows = 512});
    PackedSequence text = TextSequence(model.Tokens(2, 200), 5);
    text.NarrowReads(engine.limits().pooled_rows);
    const auto whole = engine.RunTogether({text});
    const std::int32_t pages = engine.limits().kept_kv_rows / proto::kKvPageRows;
    coordinator::BlockCache cache(pages, pages);
    for (int i = 0; i < 2; ++i) {
      const std::vector<RowLogits> cached = engine.RunInParts(text, cache, engine.limits());
      if (engine.is_root()) {
        EXPECT_TRUE(SameBits(cached[0], whole[0][0])) << i;
      }
    }
  }
}

}  // namespace engine_embedder_test
}  // namespace scorecast::testing

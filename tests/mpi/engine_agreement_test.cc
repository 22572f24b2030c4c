// What the ranks agree on. Compares the engine with itself in cases that need not give the same
// bits: results differ only in the last digits of float32.

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "proto/plan/gumbel.h"
#include "shard/checkpoint/crc32c.h"
#include "shard/linear/onednn_backend.h"
#include "tests/mpi/engine_harness.h"
#include "tests/reference/directories.h"
#include "tests/reference/random_checkpoint.h"
#include "tests/reference/temp_directory.h"

namespace scorecast::testing {
namespace engine_agreement_test {

using proto::PackedSequence;
using proto::RowLogits;
using proto::TokenId;

const std::filesystem::path kModel =
    std::filesystem::path(reference::kTestsDirectory) / "golden/families/qwen3";
constexpr std::int64_t kVocabSize = 320;
const std::vector<TokenId> kLabels = {3, 7, 300};

std::vector<TokenId> Tokens(std::uint64_t seed, std::size_t count) {
  return reference::RandomTokens(seed, count, kVocabSize);
}

// Ranks use the features that all of them have.
TEST(AgreeOnArithmetic, IntersectsTheFeatures) {
  using enum shard::CpuFeature;
  // Nothing limits oneDNN after its first use, so the other tests may use all of it.
  shard::OneDnnBackend::PassesCheck(shard::Precision::kFloat32);
  const auto group = proto::Communicator::World();
  const shard::CpuFeatures of_ranks[] = {{kAvx2, kAvxVnni}, {kAvx2, kAvx512}};
  const auto agreed = shard::AgreeOnArithmetic(
      group, of_ranks[group.rank() % 2] & shard::DetectCpuFeatures(), shard::Precision::kFloat32);
  const shard::CpuFeatures all = group.size() == 1 ? of_ranks[0] : shard::CpuFeatures{kAvx2};
  EXPECT_EQ(agreed.features, all & shard::DetectCpuFeatures()) << shard::Names(agreed.features);
}

// Several files of several blocks, and tensors that every rank reads, that one reads, or that none
// reads while it loads.
TEST(EngineChecksums, AreThoseOfTheWholeFilesHoweverManyRanksRead) {
  for (const bool is_tied : {true, false}) {
    const reference::TempDirectory dir;  // Each rank has its own, with the same weights.
    reference::RandomCheckpoint checkpoint;
    checkpoint.config = reference::TinyConfig("qwen3");
    checkpoint.config.vocab_size = 12'000;
    checkpoint.config.tie_word_embeddings = is_tied;
    checkpoint.shards = 3;
    reference::WriteRandomCheckpoint(dir.path(), checkpoint);
    const Engine engine(dir.path(), {.max_rows = 64, .has_checksums = true});
    ASSERT_EQ(engine.checksums().size(), 3U);
    for (const shard::FileChecksum& found : engine.checksums()) {
      std::ifstream file(dir.path() / found.name, std::ios::binary);
      const std::string bytes{std::istreambuf_iterator<char>(file),
                              std::istreambuf_iterator<char>()};
      EXPECT_EQ(found.crc32c,
                shard::Crc32cOfRemainder(shard::CrcRemainder(0, std::as_bytes(std::span(bytes))),
                                         static_cast<std::int64_t>(bytes.size())))
          << found.name;
    }
  }
  EXPECT_TRUE(Engine(kModel, {.max_rows = 64}).checksums().empty()) << "nobody asked for them";
}

class EngineAgreement : public ::testing::Test {
 protected:
  Engine engine_{kModel};
  std::vector<TokenId> query_ = Tokens(1, 70);
  std::vector<std::vector<TokenId>> items_ = {Tokens(100, 3),  Tokens(101, 1), Tokens(102, 17), {},
                                              Tokens(104, 64), Tokens(105, 65)};

  std::vector<RowLogits> Score() {
    auto results = engine_.RunTogether({ItemsSequence(query_, items_, kLabels, 4)});
    return results.empty() ? std::vector<RowLogits>{} : std::move(results[0]);
  }
};

// With hidden delimiters, an item beside others scores like the prompt query + item alone.
TEST_F(EngineAgreement, MultiItemIsOneByOne) {
  const std::vector<RowLogits> together = Score();
  for (std::size_t item = 0; item < items_.size(); ++item) {
    std::vector<TokenId> prompt = query_;
    prompt.insert(prompt.end(), items_[item].begin(), items_[item].end());
    const auto alone = engine_.RunTogether({ItemsSequence(prompt, {}, kLabels)});
    if (!engine_.is_root()) {
      continue;
    }
    const std::vector<double> expected = LabelLogProbs(alone[0][0]);
    const std::vector<double> found = LabelLogProbs(together[item + 1]);
    for (std::size_t l = 0; l < kLabels.size(); ++l) {
      EXPECT_NEAR(found[l], expected[l], 1e-5) << "item " << item;
    }
  }
}

// If labels are only compared with each other, the rest of the vocabulary is not computed.
TEST_F(EngineAgreement, LabelsAloneAgreeWithTheWholeRow) {
  PackedSequence sequence = ItemsSequence(query_, items_, kLabels);
  const auto whole = engine_.RunTogether({sequence});
  for (proto::RowRead& read : sequence.reads) {
    read.normalizer = false;
  }
  const auto alone = engine_.RunTogether({sequence});
  if (!engine_.is_root()) {
    return;
  }
  for (std::size_t i = 0; i < sequence.reads.size(); ++i) {
    for (std::size_t l = 0; l < kLabels.size(); ++l) {
      // Sums of hidden_size float32 products, added in two different orders.
      EXPECT_NEAR(alone[0][i].label_logits[l], whole[0][i].label_logits[l], 1e-4);
    }
  }
}

// The token drawn has the largest sum of logit / temperature and Gumbel noise over the whole
// vocabulary, whichever rank computes its logit.
TEST_F(EngineAgreement, DrawsTheLargestLogitPlusNoise) {
  PackedSequence sequence = ItemsSequence(query_, items_, {});
  std::vector<TokenId> all_tokens(kVocabSize);
  std::iota(all_tokens.begin(), all_tokens.end(), 0);
  sequence.label_lists = {std::move(all_tokens)};
  const auto plain = engine_.RunTogether({sequence});
  std::uint64_t seed = 1;
  for (proto::RowRead& read : sequence.reads) {
    read.temperature = 1.6F;
    read.draw = {++seed << 40, static_cast<std::uint32_t>(read.row)};
  }
  const auto drawn = engine_.RunTogether({sequence});
  for (std::size_t i = 0; engine_.is_root() && i < sequence.reads.size(); ++i) {
    const proto::Draw& draw = *sequence.reads[i].draw;
    proto::DrawnToken best;
    for (TokenId id = 0; id < kVocabSize; ++id) {
      const float logit = plain[0][i].label_logits[static_cast<std::size_t>(id)] / 1.6F;
      const double sum = logit + proto::GumbelNoise(draw.seed, draw.step, id);
      if (sum > best.sum) {
        best = {id, logit, sum};
      }
    }
    EXPECT_EQ(drawn[0][i].drawn, std::vector{best}) << "read " << i;
  }
}

// All kernel sets of this machine give the same scores, but not the same bits.
TEST_F(EngineAgreement, KernelSetsAgree) {
  const PackedSequence sequence = ItemsSequence(query_, items_, kLabels, 4);
  const std::vector<RowLogits> expected = Score();
  for (const shard::KernelSet& set : shard::KernelSets()) {
    if (!shard::DetectCpuFeatures().Contain(set.needs)) {
      continue;
    }
    Engine other(kModel, {.features = set.needs});
    const auto results = other.RunTogether({sequence});
    for (std::size_t i = 0; engine_.is_root() && i < expected.size(); ++i) {
      const std::vector<double> a = LabelLogProbs(results[0][i]);
      const std::vector<double> b = LabelLogProbs(expected[i]);
      for (std::size_t l = 0; l < kLabels.size(); ++l) {
        EXPECT_NEAR(a[l], b[l], 1e-5);
      }
    }
  }
}

}  // namespace engine_agreement_test
}  // namespace scorecast::testing

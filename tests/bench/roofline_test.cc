#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "bench/roofline/instruction_loops.h"
#include "bench/roofline/memory_reads.h"
#include "bench/roofline/pass_products.h"

namespace scorecast::bench {
namespace roofline_test {

#if defined(__x86_64__)
using enum shard::CpuFeature;

std::vector<std::string> Instructions(const std::string& dtype, shard::CpuFeatures features) {
  std::vector<std::string> names;
  for (const InstructionLoop& loop : InstructionLoops(dtype, features)) {
    names.push_back(loop.instruction);
  }
  return names;
}

using Names = std::vector<std::string>;

TEST(InstructionLoops, AreThoseOfTheFeatures) {
  EXPECT_EQ(Instructions("f32", {}), Names());
  EXPECT_EQ(Instructions("f32", {kAvx2}), Names({"vfmadd231ps ymm"}));
  EXPECT_EQ(Instructions("f32", {kAvx2, kAvx512}), Names({"vfmadd231ps ymm", "vfmadd231ps zmm"}));
  EXPECT_EQ(Instructions("int8", {kAvx2}), Names({"vpmaddwd ymm"}));
  EXPECT_EQ(Instructions("int8", {kAvx2, kAvxVnni}), Names({"vpmaddwd ymm", "vpdpbusd ymm"}));
  EXPECT_EQ(Instructions("int8", {kAvx2, kAvx512}), Names({"vpmaddwd ymm", "vpmaddwd zmm"}));
}

TEST(InstructionLoops, OfBf16AreThoseOfF32WithoutInstructionsForIt) {
  EXPECT_EQ(Instructions("bf16", {kAvx2}), Instructions("f32", {kAvx2}));
  EXPECT_EQ(Instructions("bf16", {kAvx2, kAvx512, kAvx512Bf16}), Names({"vdpbf16ps zmm"}));
}

#endif

TEST(InstructionLoops, RunOnThisCpu) {
  shard::ThreadPool pool(1);
  for (const char* dtype : {"f32", "bf16", "int8"}) {
    for (const InstructionLoop& loop : InstructionLoops(dtype, shard::DetectCpuFeatures())) {
      EXPECT_GT(OperationsPerSecond(loop, pool), 0) << loop.instruction;
    }
  }
}

TEST(MemoryReads, ReadEveryWordOnce) {
  constexpr std::int64_t kBytes = 5 * 1000 * 1000;
  for (const int threads : {1, 3}) {
    shard::ThreadPool pool(threads);
    MemoryReads reads(kBytes, pool);
    const auto words = static_cast<std::uint64_t>(reads.words());
    EXPECT_GE(words * sizeof(std::uint64_t), kBytes);
    EXPECT_EQ(reads.Sum(), words * (words - 1) / 2);
    EXPECT_EQ(reads.Sum(), words * (words - 1) / 2);
  }
}

constexpr std::int64_t kHidden = 24;
constexpr std::int64_t kQueries = 4 * 8;
constexpr std::int64_t kKeys = 2 * 8;
constexpr std::int64_t kIntermediate = 48;
constexpr std::int64_t kVocabulary = 80;

proto::ModelConfig Config() {
  proto::ModelConfig config;
  config.hidden_size = kHidden;
  config.layers.resize(3);
  config.num_attention_heads = 4;
  config.num_key_value_heads = 2;
  config.head_dim = 8;
  config.intermediate_size = kIntermediate;
  config.vocab_size = kVocabulary;
  return config;
}

double Operations(std::int64_t rows, std::int64_t reads, int rank = 0, int ranks = 1) {
  const proto::ModelConfig config = Config();
  return OperationsOf(
      ProductsOfPass(config, proto::MakePartition(config, rank, ranks), rows, reads));
}

/// Weights of a layer without those of keys and values.
constexpr std::int64_t kOtherWeights = 2 * kQueries * kHidden + 3 * kIntermediate * kHidden;

TEST(PassProducts, MultiplyEveryRowByEveryWeightIfAllRowsAreRead) {
  const std::int64_t weights = 3 * (kOtherWeights + 2 * kKeys * kHidden) + kVocabulary * kHidden;
  EXPECT_EQ(Operations(7, 7), 2.0 * 7 * weights);
  const proto::ModelConfig config = Config();
  EXPECT_EQ(WeightBytes(config, proto::MakePartition(config, 0, 1), 1, 1), weights);
}

TEST(PassProducts, RowsThatAreNotReadNeedNoLogits) {
  EXPECT_EQ(Operations(7, 7) - Operations(7, 3), 2.0 * 4 * kVocabulary * kHidden);
}

TEST(PassProducts, WeightsTakeTheBytesOfTheirPrecision) {
  const proto::ModelConfig config = Config();
  const std::int64_t layers = 3 * (kOtherWeights + 2 * kKeys * kHidden);
  EXPECT_EQ(WeightBytes(config, proto::MakePartition(config, 0, 1), 1, 2),
            layers + 2 * kVocabulary * kHidden);
}

TEST(PassProducts, OfAnEncoderHaveNoGateAndNoLmHead) {
  proto::ModelConfig config = Config();
  config.gated_feedforward = false;
  config.read_head.emplace();
  const std::int64_t layer = 2 * (kQueries + kKeys) * kHidden + 2 * kIntermediate * kHidden;
  EXPECT_EQ(OperationsOf(ProductsOfPass(config, proto::MakePartition(config, 0, 1), 7, 3)),
            2.0 * 7 * 3 * layer);
}

TEST(PassProducts, OfAllRanksAddUpToThoseOfOneRank) {
  EXPECT_EQ(Operations(7, 3, 0, 2) + Operations(7, 3, 1, 2), Operations(7, 3));
}

TEST(PassProducts, LeaveOutProductsOfWhichARankOwnsNothing) {
  proto::ModelConfig config = Config();
  config.intermediate_size = proto::kPartitionGrain;  // Rank 0 owns all of it.
  const auto products = ProductsOfPass(config, proto::MakePartition(config, 1, 2), 7, 3);
  // Two products (queries, keys and values; output) in each of three layers, and the lm-head.
  ASSERT_EQ(products.size(), 3U * 2 + 1);
  for (const Product& product : products) {
    EXPECT_GT(product.operations(), 0);
  }
}

}  // namespace roofline_test
}  // namespace scorecast::bench

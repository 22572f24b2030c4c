#include "launcher/engine/plan_limits.h"

#include <cstdint>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "proto/base/error.h"
#include "proto/model/model_config.h"
#include "proto/model/partition.h"
#include "shard/attention/kv_store.h"
#include "shard/model/memory_estimate.h"
#include "tests/reference/directories.h"

namespace scorecast::launcher {
namespace plan_limits_test {

using proto::kKvPageRows;

constexpr shard::HeldWeights kWeights = {.layer_size = 4, .lm_head_size = 4};  // float32

/// A model with rotations, so that it can have any number of positions.
proto::ModelConfig ModelOf(std::int64_t positions) {
  proto::ModelConfig config = proto::LoadModelConfig(
      std::filesystem::path(reference::kTestsDirectory) / "golden/encoders/modernbert-classifier");
  config.max_position_embeddings = positions;
  return config;
}

proto::PlanLimits LimitsWithin(std::int64_t bytes, const proto::ModelConfig& config) {
  return MakeEngineLimits({}, config, kWeights, /*ranks=*/1, {.bytes = bytes}).plan;
}

/// What one rank needs with these limits.
std::int64_t Needed(const proto::ModelConfig& config, const proto::PlanLimits& limits) {
  return shard::EstimateMemory(config, proto::MakePartition(config, 0, 1), limits, kWeights)
             .total() +
         3 * limits.max_logit_bytes;
}

constexpr std::int64_t kPlenty = std::int64_t{64} << 30;

TEST(BuffersForTexts, HaveRoomForTheLongestTextAndAReserve) {
  const auto expect = [](std::int64_t positions, std::int64_t longest_rows, std::int64_t reserve) {
    const proto::PlanLimits limits = LimitsWithin(kPlenty, ModelOf(positions));
    EXPECT_EQ(limits.longest_text, positions);
    EXPECT_EQ(limits.text_rows, longest_rows + reserve) << positions;
    EXPECT_EQ(limits.kept_kv_rows, 0);
  };
  expect(8192, 8192, 2048);
  expect(8000, 8000, 2048);
  expect(512, 512, 512);
  expect(514, 576, 512);
  expect(300, 320, 320);
}

TEST(BuffersForTexts, LeaveMemoryFree) {
  const proto::ModelConfig config = ModelOf(8192);
  proto::PlanLimits without = LimitsWithin(kPlenty, config);
  without.longest_text = 0;
  without.text_rows = 0;
  const std::int64_t page_bytes =
      kKvPageRows * config.hidden_size * static_cast<std::int64_t>(sizeof(float)) +
      shard::KvStore::Bytes(sizeof(float), /*layers=*/2, config.num_key_value_heads,
                            config.head_dim, kKvPageRows, 0);
  const auto expect = [&](std::int64_t pages, std::int64_t longest, std::int64_t reserve) {
    const std::int64_t bytes = Needed(config, without) + pages * page_bytes;
    const proto::PlanLimits limits = LimitsWithin(bytes, config);
    EXPECT_EQ(limits.longest_text, longest * kKvPageRows) << pages;
    EXPECT_EQ(limits.text_rows, (longest + reserve) * kKvPageRows) << pages;
    EXPECT_LE(Needed(config, limits), bytes) << pages;
  };
  expect(40, 20, 8);
  expect(24, 12, 6);
  expect(4, 2, 1);
  expect(2, 1, 0);
  expect(0, 0, 0);
}

// Of 12 query heads on 5 ranks, the second rank has those numbered 3 to 5. Four of them share a K/V
// head, so it has two of these, and all other ranks have one.
TEST(CachedPages, FitIntoTheMemoryOfTheRankWithTheMostHeads) {
  constexpr int kRanks = 5;
  proto::ModelConfig config = ModelOf(4096);
  config.bidirectional = false;
  config.hidden_size = 96;
  config.num_attention_heads = 12;
  config.num_key_value_heads = 3;
  config.head_dim = 8;
  const auto partition = [&](int rank) { return proto::MakePartition(config, rank, kRanks); };
  ASSERT_EQ(partition(0).kv_heads.size(), 1);
  ASSERT_EQ(partition(1).kv_heads.size(), 2);
  EngineFlags flags;
  flags.kv_cache_mb = 3;
  const auto limits_within = [&](std::int64_t bytes) {
    return MakeEngineLimits(flags, config, kWeights, kRanks, {.bytes = bytes, .ranks = kRanks});
  };
  const EngineLimits limits = limits_within(kPlenty);
  EXPECT_EQ(limits.page_bytes, shard::KvStore::Bytes(sizeof(float), config.num_hidden_layers(),
                                                     /*kv_heads=*/2, config.head_dim, kKvPageRows,
                                                     /*pass_rows=*/0));
  EXPECT_EQ(limits.cached_pages, (std::int64_t{3} << 20) / limits.page_bytes);
  // What all ranks of a host need together fits into its memory, and with less memory it would not.
  const auto needed = [&](const proto::PlanLimits& plan) {
    std::int64_t bytes = (kRanks + 2) * plan.max_logit_bytes;
    for (int rank = 0; rank < kRanks; ++rank) {
      bytes += shard::EstimateMemory(config, partition(rank), plan, kWeights).total();
    }
    return bytes;
  };
  flags.kv_cache_mb = 64;
  const std::int64_t bytes = needed(limits_within(kPlenty).plan);
  EXPECT_THROW(limits_within(bytes - 1), proto::StartupError);
}

}  // namespace plan_limits_test
}  // namespace scorecast::launcher

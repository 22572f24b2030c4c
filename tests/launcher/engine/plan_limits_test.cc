#include "launcher/engine/plan_limits.h"

#include <cstdint>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

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

}  // namespace plan_limits_test
}  // namespace scorecast::launcher

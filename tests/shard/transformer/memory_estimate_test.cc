#include "shard/transformer/memory_estimate.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "proto/model/model_config.h"
#include "proto/model/partition.h"
#include "shard/attention/kv_store.h"
#include "shard/checkpoint/checkpoint.h"
#include "shard/linear/openblas_backend.h"
#include "shard/transformer/layer.h"
#include "shard/transformer/transformer.h"

namespace scorecast::shard {
namespace {

class MemoryEstimateTest : public ::testing::TestWithParam<const char*> {
 protected:
  const std::filesystem::path dir_ =
      std::filesystem::path(SCORECAST_TESTS_DIR) / "golden/families" / GetParam();
  const proto::ModelConfig config_ = proto::LoadModelConfig(dir_);
  const Checkpoint checkpoint_ = Checkpoint::Open(dir_);
};

TEST_P(MemoryEstimateTest, CountsTheCheckpointsParameters) {
  std::int64_t parameters = 0;
  for (const std::string& name : checkpoint_.Names()) {
    parameters += checkpoint_.Get(name).num_elements();
  }
  EXPECT_EQ(CountParameters(config_), parameters);
}

TEST_P(MemoryEstimateTest, WeightsAreWhatARankHolds) {
  OpenBlasBackend backend;
  for (int ranks = 1; ranks <= config_.num_attention_heads; ++ranks) {
    for (int rank = 0; rank < ranks; ++rank) {
      const proto::Partition partition = proto::MakePartition(config_, rank, ranks);
      // Beside the layers the final norm and the lm-head's slice.
      std::int64_t floats = config_.hidden_size + partition.vocabulary.size() * config_.hidden_size;
      for (std::int64_t index = 0; index < config_.num_hidden_layers; ++index) {
        const Layer layer = LoadLayer(checkpoint_, config_, partition, index, backend);
        for (const Linear* linear : {&layer.qkv, &layer.output, &layer.gate_up, &layer.down}) {
          floats += linear->in_features() * linear->out_features();
        }
        for (const std::vector<float>* vector :
             {&layer.input_norm, &layer.qkv_bias, &layer.query_norm, &layer.key_norm,
              &layer.output_bias, &layer.post_attention_norm, &layer.gate_up_bias,
              &layer.down_bias}) {
          floats += static_cast<std::int64_t>(vector->size());
        }
      }
      EXPECT_EQ(EstimateMemory(config_, partition, {}).weights, 4 * floats)
          << "rank " << rank << " of " << ranks;
    }
  }
}

constexpr proto::PlanLimits kLimits = {
    .max_rows = 1000, .max_reads = 300, .pass_kv_rows = 2000, .kept_kv_rows = 500};

TEST_P(MemoryEstimateTest, BuffersAreCounted) {
  const proto::Partition partition = proto::MakePartition(config_, 0, 2);
  const MemoryEstimate estimate = EstimateMemory(config_, partition, kLimits);
  EXPECT_GE(estimate.activations, Workspace::Bytes(config_, partition, kLimits));
  // Each of the workspace's members by its shape, rows rounded up to whole granules.
  const std::int64_t q = partition.heads.size() * config_.head_dim;
  const std::int64_t kv = partition.kv_heads.size() * config_.head_dim;
  EXPECT_EQ(
      Workspace::Bytes(config_, partition, kLimits),
      4 * (1008 * (3 * config_.hidden_size + (q + 2 * kv) + q + 2 * partition.intermediate.size()) +
           304 * config_.hidden_size));
  EXPECT_EQ(estimate.kv, KvStore::Bytes(config_.num_hidden_layers, partition.kv_heads.size(),
                                        config_.head_dim, 500, 2000));
  EXPECT_EQ(estimate.total(), estimate.weights + estimate.activations + estimate.kv);
}

TEST_P(MemoryEstimateTest, GrowsWithEachLimit) {
  const proto::Partition partition = proto::MakePartition(config_, 0, 1);
  const MemoryEstimate small = EstimateMemory(config_, partition, kLimits);
  for (std::int32_t proto::PlanLimits::*limit :
       {&proto::PlanLimits::max_rows, &proto::PlanLimits::max_reads}) {
    proto::PlanLimits more = kLimits;
    more.*limit += 1000;
    const MemoryEstimate large = EstimateMemory(config_, partition, more);
    EXPECT_GT(large.activations, small.activations);
    EXPECT_EQ(large.kv, small.kv);
    EXPECT_EQ(large.weights, small.weights);
  }
  for (std::int32_t proto::PlanLimits::*limit :
       {&proto::PlanLimits::pass_kv_rows, &proto::PlanLimits::kept_kv_rows}) {
    proto::PlanLimits more = kLimits;
    more.*limit += 1000;
    const MemoryEstimate large = EstimateMemory(config_, partition, more);
    EXPECT_GT(large.kv, small.kv);
    EXPECT_EQ(large.activations, small.activations);
  }
}

TEST_P(MemoryEstimateTest, MoreRanksNeedNoMoreEach) {
  for (int ranks = 2; ranks <= config_.num_attention_heads; ++ranks) {
    const std::int64_t fewer =
        EstimateMemory(config_, proto::MakePartition(config_, 0, ranks - 1), {}).weights;
    const std::int64_t more =
        EstimateMemory(config_, proto::MakePartition(config_, 0, ranks), {}).weights;
    EXPECT_LE(more, fewer) << ranks << " ranks";
  }
}

INSTANTIATE_TEST_SUITE_P(Families, MemoryEstimateTest,
                         ::testing::Values("llama", "llama-nine-heads", "llama-bias", "qwen3"),
                         [](const auto& family) {
                           std::string name = family.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace scorecast::shard

#include "shard/model/memory_estimate.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "proto/model/model_config.h"
#include "proto/model/partition.h"
#include "shard/attention/kv_store.h"
#include "shard/checkpoint/checkpoint.h"
#include "shard/linear/arithmetic.h"
#include "shard/model/layer.h"
#include "shard/model/rope_table.h"
#include "shard/model/workspace.h"
#include "shard/readout/lm_head.h"
#include "tests/reference/directories.h"
#include "tests/reference/golden_directories.h"

namespace scorecast::shard {
namespace memory_estimate_test {

class MemoryEstimateTest : public ::testing::TestWithParam<std::string_view> {
 protected:
  const std::filesystem::path dir_ =
      std::filesystem::path(reference::kTestsDirectory) / "golden/families" / GetParam();
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

constexpr Precision kPrecisions[] = {Precision::kFloat32, Precision::kBfloat16, Precision::kInt8};

/// A backend that holds weights in the type of the precision, whatever the checkpoint has.
constexpr BackendEntry kOfPrecision = {};
/// A backend that holds weights of float32 products as the checkpoint has them.
constexpr BackendEntry kAsStored = {.held_type = [](Precision precision, Dtype stored) {
  return precision == Precision::kBfloat16 ? Dtype::kBF16 : stored;
}};

/// The choice if the CPU has bfloat16.
ArithmeticChoice Choice(Precision layers, const BackendEntry& backend) {
  return {.layers = layers,
          .lm_head = layers == Precision::kInt8 ? Precision::kBfloat16 : layers,
          .layer_backend = &backend,
          .lm_head_backend = &backend};
}

/// How weights are held in 4, 2 or 1 bytes, according to the precision.
HeldWeights Weights(Precision layers) {
  const ArithmeticChoice choice = Choice(layers, kOfPrecision);
  return {choice.precisions(), ElementSize(choice.layers), ElementSize(choice.lm_head)};
}

TEST_P(MemoryEstimateTest, WeightsTakeTheirSizeInTheBackend) {
  for (const Precision precision : kPrecisions) {
    const HeldWeights of_precision =
        HoldWeights(Choice(precision, kOfPrecision), checkpoint_, config_);
    EXPECT_EQ(of_precision.layer_size, Weights(precision).layer_size);
    EXPECT_EQ(of_precision.lm_head_size, Weights(precision).lm_head_size);
    const HeldWeights as_stored = HoldWeights(Choice(precision, kAsStored), checkpoint_, config_);
    const std::int64_t of_file = ItemSize(checkpoint_.Get("model.embed_tokens.weight").dtype);
    EXPECT_EQ(as_stored.layer_size,
              precision == Precision::kFloat32 ? of_file : Weights(precision).layer_size);
    EXPECT_EQ(as_stored.lm_head_size, precision == Precision::kFloat32 ? of_file : 2);
  }
}

TEST_P(MemoryEstimateTest, WeightsAreThoseThatARankHolds) {
  for (const Precision precision : kPrecisions) {
    ThreadPool pool(1);
    TileScratch scratch(1);
    Arithmetic arithmetic(KernelsFor(DetectCpuFeatures()),
                          ChooseArithmetic(precision, DetectCpuFeatures()), 1);
    const Packing packing = {arithmetic.layer_backend(), precision, pool, scratch,
                             KernelsFor(DetectCpuFeatures())};
    for (int ranks = 1; ranks <= config_.num_attention_heads; ++ranks) {
      for (int rank = 0; rank < ranks; ++rank) {
        const proto::Partition partition = proto::MakePartition(config_, rank, ranks);
        std::int64_t bytes =
            Weights(precision).lm_head_size * partition.vocabulary.size() * config_.hidden_size;
        std::int64_t vectors = config_.hidden_size;  // The final norm.
        for (std::int64_t index = 0; index < config_.num_hidden_layers(); ++index) {
          const Layer layer = LoadLayer(checkpoint_, config_, partition, index, packing);
          const std::int64_t q = partition.heads.size() * config_.head_dim;
          const std::int64_t i = partition.intermediate.size();
          for (const auto& [linear, in] : {std::pair{&layer.qkv, config_.hidden_size},
                                           {&layer.output, q},
                                           {&layer.gate_up, config_.hidden_size},
                                           {&layer.down, i}}) {
            const std::int64_t out = linear->out_features();
            bytes += ElementSize(precision) * out * in;
            // An output has a scale and an offset.
            bytes += precision == Precision::kInt8 && in > 0 ? out * 8 : 0;
          }
          for (const std::vector<float>* vector :
               {&layer.input_norm.weight, &layer.qkv_bias, &layer.query_norm.weight,
                &layer.key_norm.weight, &layer.output_bias, &layer.post_attention_norm.weight,
                &layer.pre_feedforward_norm.weight, &layer.gate_bias, &layer.up_bias,
                &layer.down_bias, &layer.post_feedforward_norm.weight}) {
            vectors += static_cast<std::int64_t>(vector->size());
          }
        }
        EXPECT_EQ(EstimateMemory(config_, partition, {}, Weights(precision)).weights,
                  bytes + 4 * vectors)
            << Name(precision) << ", rank " << rank << " of " << ranks;
      }
    }
  }
}

constexpr proto::PlanLimits kLimits = {
    .max_rows = 1000, .max_reads = 300, .pass_kv_rows = 2000, .kept_kv_rows = 500};

TEST_P(MemoryEstimateTest, BuffersAreCounted) {
  const proto::Partition partition = proto::MakePartition(config_, 0, 2);
  for (const Precision precision : kPrecisions) {
    const HeldWeights weights = Weights(precision);
    const MemoryEstimate estimate = EstimateMemory(config_, partition, kLimits, weights);
    // The workspace, the lm-head's rows and normalizers, RoPE tables, and three buffers of
    // exchanged rows.
    EXPECT_EQ(estimate.activations,
              Workspace::Bytes(config_, partition, kLimits, precision) +
                  LmHead::Bytes(config_.hidden_size, partition.vocabulary.size(), 300,
                                weights.precisions.lm_head) +
                  static_cast<std::int64_t>(config_.rope_tables.size()) *
                      RopeTable::Bytes(config_.head_dim, 1000) +
                  3 * 1000 * config_.hidden_size * 4);
    EXPECT_EQ(estimate.kv,
              KvStore::Bytes(precision == Precision::kFloat32 ? 4 : 2, config_.num_hidden_layers(),
                             partition.kv_heads.size(), config_.head_dim, 500, 2000));
    EXPECT_EQ(estimate.total(), estimate.weights + estimate.activations + estimate.kv);
  }
}

// Expects the bytes of plans that have at most the bucket's rows.
TEST_P(MemoryEstimateTest, TouchedIsThePartThatTheLargestTouchedBucketUses) {
  constexpr std::int32_t kBucket = proto::kTouchedBucket;
  const proto::PlanLimits limits = {
      .max_rows = 8192, .max_reads = 9000, .pass_kv_rows = 40000, .kept_kv_rows = 640};
  const proto::PlanLimits of_bucket = {
      .max_rows = kBucket, .max_reads = kBucket, .pass_kv_rows = 4 * kBucket, .kept_kv_rows = 0};
  for (const Precision precision : kPrecisions) {
    for (int ranks = 1; ranks <= 2; ++ranks) {
      const proto::Partition partition = proto::MakePartition(config_, 0, ranks);
      const MemoryEstimate all = EstimateMemory(config_, partition, limits, Weights(precision));
      const MemoryEstimate part = EstimateMemory(config_, partition, of_bucket, Weights(precision));
      EXPECT_EQ(all.touched, part.activations + part.kv);
      EXPECT_EQ(part.touched, part.activations + part.kv);
      EXPECT_LT(all.touched, all.activations + all.kv);
    }
  }
}

// A rank that is alone has summands only if a layer normalises them.
TEST_P(MemoryEstimateTest, SummandsOfOneRankAreCountedIfTheyAreUsed) {
  proto::ModelConfig without_norms = config_;
  for (proto::LayerConfig& layer : without_norms.layers) {
    layer.post_attention_norm = false;
    layer.post_feedforward_norm = false;
  }
  proto::ModelConfig with_norm = without_norms;
  with_norm.layers.back().post_feedforward_norm = true;
  const auto activations = [](const proto::ModelConfig& config, int ranks) {
    const proto::Partition partition = proto::MakePartition(config, 0, ranks);
    return EstimateMemory(config, partition, kLimits, Weights(Precision::kFloat32)).activations;
  };
  EXPECT_EQ(activations(with_norm, 1) - activations(without_norms, 1),
            1000 * config_.hidden_size * 4);
  EXPECT_EQ(activations(with_norm, 2), activations(without_norms, 2));
}

TEST_P(MemoryEstimateTest, GrowsWithEachLimit) {
  const proto::Partition partition = proto::MakePartition(config_, 0, 1);
  for (const Precision precision : kPrecisions) {
    const MemoryEstimate small = EstimateMemory(config_, partition, kLimits, Weights(precision));
    proto::PlanLimits more_rows = kLimits;
    more_rows.max_rows += 1000;
    const MemoryEstimate of_rows =
        EstimateMemory(config_, partition, more_rows, Weights(precision));
    EXPECT_GT(of_rows.activations, small.activations);
    EXPECT_EQ(of_rows.kv, small.kv);
    EXPECT_EQ(of_rows.weights, small.weights);
    for (std::int32_t proto::PlanLimits::*limit :
         {&proto::PlanLimits::pass_kv_rows, &proto::PlanLimits::kept_kv_rows}) {
      proto::PlanLimits more = kLimits;
      more.*limit += 1000;
      const MemoryEstimate large = EstimateMemory(config_, partition, more, Weights(precision));
      EXPECT_GT(large.kv, small.kv);
      EXPECT_EQ(large.activations, small.activations);
    }
  }
}

// What waits between the steps of a text: residuals, and keys and values of two layers.
TEST(MemoryOfTexts, IsCountedForBidirectionalModels) {
  const proto::ModelConfig config = proto::LoadModelConfig(
      std::filesystem::path(reference::kTestsDirectory) / "golden/encoders/bert-classifier-labels");
  const proto::Partition partition = proto::MakePartition(config, 0, 2);
  for (const Precision precision : kPrecisions) {
    proto::PlanLimits limits = kLimits;
    limits.kept_kv_rows = 0;
    const MemoryEstimate without = EstimateMemory(config, partition, limits, Weights(precision));
    limits.text_rows = 960;
    const MemoryEstimate with = EstimateMemory(config, partition, limits, Weights(precision));
    EXPECT_EQ(with.activations - without.activations, 960 * config.hidden_size * 4);
    EXPECT_EQ(with.kv - without.kv,
              KvStore::Bytes(precision == Precision::kFloat32 ? 4 : 2, /*layers=*/2,
                             partition.kv_heads.size(), config.head_dim, 960, 0));
    EXPECT_EQ(with.touched, without.touched);
  }
}

// The tables of rotations reach to the last position of the longest text, however many texts wait.
TEST(MemoryOfTexts, RotationsAreThoseOfTheLongestText) {
  const proto::ModelConfig config = proto::LoadModelConfig(
      std::filesystem::path(reference::kTestsDirectory) / "golden/encoders/modernbert-classifier");
  const proto::Partition partition = proto::MakePartition(config, 0, 1);
  proto::PlanLimits limits = kLimits;
  limits.kept_kv_rows = 0;
  const auto estimate = [&] {
    return EstimateMemory(config, partition, limits, Weights(Precision::kFloat32));
  };
  const MemoryEstimate without = estimate();
  limits.text_rows = 64 * 64;
  const MemoryEstimate of_rows = estimate();
  EXPECT_EQ(of_rows.activations - without.activations, 64 * 64 * config.hidden_size * 4);
  limits.longest_text = limits.max_rows + 64;
  EXPECT_EQ(estimate().activations - of_rows.activations,
            static_cast<std::int64_t>(config.rope_tables.size()) *
                (RopeTable::Bytes(config.head_dim, limits.max_rows + 64) -
                 RopeTable::Bytes(config.head_dim, limits.max_rows)));
  EXPECT_EQ(estimate().kv, of_rows.kv);
  EXPECT_EQ(estimate().touched, without.touched);
}

TEST_P(MemoryEstimateTest, MoreRanksNeedNoMoreEach) {
  const auto weights = [&](int ranks, Precision precision) {
    const proto::Partition partition = proto::MakePartition(config_, 0, ranks);
    return EstimateMemory(config_, partition, {}, Weights(precision)).weights;
  };
  for (const Precision precision : kPrecisions) {
    for (int ranks = 2; ranks <= config_.num_attention_heads; ++ranks) {
      EXPECT_LE(weights(ranks, precision), weights(ranks - 1, precision)) << ranks << " ranks";
    }
  }
}

TEST_P(MemoryEstimateTest, FewerBytesForLessPrecision) {
  const proto::Partition partition = proto::MakePartition(config_, 0, 1);
  const auto of = [&](Precision precision) {
    return EstimateMemory(config_, partition, kLimits, Weights(precision));
  };
  // All but the vectors, which are float32.
  std::int64_t vector_bytes = 0;
  for (const std::string& name : checkpoint_.Names()) {
    const TensorView& tensor = checkpoint_.Get(name);
    vector_bytes += tensor.shape.size() == 1 ? 4 * tensor.num_elements() : 0;
  }
  EXPECT_EQ(2 * (of(Precision::kBfloat16).weights - vector_bytes),
            of(Precision::kFloat32).weights - vector_bytes);
  EXPECT_EQ(2 * of(Precision::kBfloat16).kv, of(Precision::kFloat32).kv);
  EXPECT_EQ(of(Precision::kInt8).kv, of(Precision::kBfloat16).kv);
}

std::string TestName(const ::testing::TestParamInfo<std::string_view>& family) {
  std::string name(family.param);
  std::erase(name, '-');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Families, MemoryEstimateTest,
                         ::testing::ValuesIn(reference::kGoldenFamilies), TestName);
INSTANTIATE_TEST_SUITE_P(Classifiers, MemoryEstimateTest,
                         ::testing::ValuesIn(reference::kGoldenClassifiers), TestName);

}  // namespace memory_estimate_test
}  // namespace scorecast::shard

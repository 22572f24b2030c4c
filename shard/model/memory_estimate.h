#pragma once

#include <cstdint>

#include "proto/model/model_config.h"
#include "proto/model/partition.h"
#include "proto/plan/forward_plan.h"
#include "shard/checkpoint/checkpoint.h"
#include "shard/linear/arithmetic.h"
#include "shard/linear/precision.h"

namespace scorecast::shard {

/// Bytes that one rank needs to compute the largest plan.
///
/// Not counted: optional tensors, padding of packed weights and of rows, and each thread's scratch
/// (tiles of products; rows and weights that a backend widens).
struct MemoryEstimate {
  std::int64_t weights = 0;      ///< The rank's slices, as packed, and vectors.
  std::int64_t activations = 0;  ///< Buffers for the largest plan.
  std::int64_t kv = 0;           ///< Keys and values, both of one pass and kept between passes.
  /// The part of activations and K/V that is touched at start-up, for buckets up to
  /// proto::kTouchedBucket.
  std::int64_t touched = 0;

  std::int64_t total() const { return weights + activations + kv; }
};

/// How a rank holds the weights of a model's products.
struct HeldWeights {
  ProductPrecisions precisions;
  std::int64_t layer_size = 0;    ///< Bytes of one number of a layer's weight.
  std::int64_t lm_head_size = 0;  ///< Bytes of one number of the lm-head's weight.
};

/// How the weights of a checkpoint are held for the products of `choice`. If the layers' weights
/// have several types in the checkpoint, the size is that of the largest type in which one of them
/// is held.
HeldWeights HoldWeights(const ArithmeticChoice& choice, const Checkpoint& checkpoint,
                        const proto::ModelConfig& config);

/// Bytes of an element of keys and values: they are bfloat16 unless layers are float32.
constexpr std::int64_t KvElementSize(Precision layers) {
  return ElementSize(layers == Precision::kFloat32 ? layers : Precision::kBfloat16);
}

MemoryEstimate EstimateMemory(const proto::ModelConfig& config, const proto::Partition& partition,
                              const proto::PlanLimits& limits, const HeldWeights& weights);

/// Parameters of the whole model without optional tensors; a tied lm-head counts once.
std::int64_t CountParameters(const proto::ModelConfig& config);

}  // namespace scorecast::shard

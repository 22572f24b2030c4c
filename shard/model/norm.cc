#include "shard/model/norm.h"

#include "shard/checkpoint/tensor_view.h"

namespace scorecast::shard {
namespace {

std::vector<float> LoadVector(const TensorView& tensor) {
  std::vector<float> values(static_cast<std::size_t>(tensor.shape[0]));
  ReadRows(tensor, {0, tensor.shape[0]}, values.data());
  return values;
}

}  // namespace

Norm LoadNorm(const Checkpoint& checkpoint, const proto::ModelConfig& config,
              std::span<const TensorSpec> tensors, TensorRole weight,
              std::optional<TensorRole> bias) {
  Norm norm;
  const TensorSpec* of_weight = FindTensor(tensors, weight);
  if (of_weight == nullptr) {
    return norm;
  }
  norm.weight = LoadVector(Require(checkpoint, *of_weight, config));
  if (config.norm_weights_plus_one) {
    for (float& multiplier : norm.weight) {
      multiplier += 1.0F;
    }
  }
  const TensorSpec* of_bias = bias ? FindTensor(tensors, *bias) : nullptr;
  if (of_bias != nullptr) {
    norm.bias = LoadVector(Require(checkpoint, *of_bias, config));
  }
  return norm;
}

}  // namespace scorecast::shard

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "proto/model/model_config.h"
#include "shard/checkpoint/checkpoint.h"
#include "shard/kernels/kernels.h"
#include "shard/model/tensors.h"

namespace scorecast::shard {

/// What a norm multiplies by and adds.
struct Norm {
  std::vector<float> weight;  ///< [n]; empty if there is no norm.
  std::vector<float> bias;    ///< [n]; empty if nothing is added.

  bool empty() const { return weight.empty(); }
  bool operator==(const Norm&) const = default;
};

/// Reads the norm whose tensors are among `tensors`; an empty one if the list has no `weight`. In
/// some families its multipliers are 1 + the tensor.
Norm LoadNorm(const Checkpoint& checkpoint, const proto::ModelConfig& config,
              std::span<const TensorSpec> tensors, TensorRole weight,
              std::optional<TensorRole> bias);

/// The norms of a model's rows [n]. `out` may be `x`.
class RowNorm {
 public:
  RowNorm(const Kernels& kernels, const proto::ModelConfig& config)
      : kernels_(kernels), kind_(config.norm), eps_(static_cast<float>(config.norm_eps)) {}

  void operator()(const float* x, const Norm& norm, float* out) const {
    const auto n = static_cast<std::int64_t>(norm.weight.size());
    if (kind_ == proto::NormKind::kLayer) {
      kernels_.layer_norm(x, norm.weight.data(), norm.bias.empty() ? nullptr : norm.bias.data(), n,
                          eps_, out);
    } else {
      kernels_.rms_norm(x, norm.weight.data(), n, eps_, out);
    }
  }

 private:
  const Kernels& kernels_;
  proto::NormKind kind_;
  float eps_;
};

}  // namespace scorecast::shard

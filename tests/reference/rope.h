#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "proto/model/model_config.h"

namespace scorecast::reference {

/// Rotary position embedding as transformers computes it. Frequencies and angles are float32,
/// because the rounding of an angle is part of the reference's results; the rotation itself is in
/// double.
class Rope {
 public:
  Rope(const proto::RopeConfig& config, std::int64_t head_dim);

  /// Rotates one head, [head_dim], in place: element i pairs with element i + head_dim / 2.
  void Rotate(std::span<double> head, std::int32_t position) const;

 private:
  std::vector<float> inverse_frequencies_;  // [head_dim / 2]
  double attention_factor_;                 // Factor of cos and sin.
};

}  // namespace scorecast::reference

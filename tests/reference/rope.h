#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tests/reference/reference_config.h"

namespace scorecast::reference {

/// Rotary position embedding as transformers computes it: frequencies and angles in float32, since
/// a rounded angle is part of what the reference answers; the rotation itself in double.
class Rope {
 public:
  Rope(const ReferenceConfig& config, double theta);

  /// Rotates one head, [head_dim], in place: element i turns with element i + head_dim / 2.
  void Rotate(std::span<double> head, std::int32_t position) const;

 private:
  std::vector<float> inverse_frequencies_;  // [head_dim / 2]
  double attention_factor_ = 1.0;           // yarn: what cos and sin are multiplied with
};

}  // namespace scorecast::reference

#pragma once

#include <cstdint>
#include <vector>

#include "proto/model/model_config.h"

namespace scorecast::shard {

/// Cosines and sines of rotary position embeddings (arXiv 2104.09864), with the frequencies of a
/// RoPE type and multiplied by its attention factor. As in transformers, the angle and every step
/// on the way to it are rounded to float32, so that scores agree at large positions too. The table
/// grows with the largest position seen.
class RopeTable {
 public:
  RopeTable(const proto::RopeConfig& config, std::int64_t head_dim);

  /// Adds the positions below `end` that are missing.
  void Extend(std::int64_t end);

  /// Bytes of a table that was extended to `end`.
  static std::int64_t Bytes(std::int64_t head_dim, std::int64_t end);

  const float* cosine(std::int64_t position) const { return cosine_.data() + position * half_; }
  const float* sine(std::int64_t position) const { return sine_.data() + position * half_; }

 private:
  std::int64_t half_;
  float factor_;                    // Factor of cosines and sines.
  std::vector<float> frequencies_;  // [head_dim / 2]
  std::vector<float> cosine_;       // [positions][head_dim / 2]
  std::vector<float> sine_;         // [positions][head_dim / 2]
};

}  // namespace scorecast::shard

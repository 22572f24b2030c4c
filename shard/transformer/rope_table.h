#pragma once

#include <cstdint>
#include <vector>

namespace scorecast::shard {

/// Cosines and sines of rotary position embeddings (arXiv 2104.09864), in the arithmetic that
/// transformers uses: every step to a frequency, and the angle, is rounded to float32, so that
/// scores agree with it at large positions too. Grows with the largest position seen.
class RopeTable {
 public:
  RopeTable(double rope_theta, std::int64_t head_dim);

  /// Makes sure that positions below `end` are there.
  void Extend(std::int64_t end);

  /// What a table takes that was extended to `end`.
  static std::int64_t Bytes(std::int64_t head_dim, std::int64_t end);

  const float* cosine(std::int64_t position) const { return cosine_.data() + position * half_; }
  const float* sine(std::int64_t position) const { return sine_.data() + position * half_; }

 private:
  std::int64_t half_;
  std::vector<float> frequencies_;  // [head_dim / 2]
  std::vector<float> cosine_;       // [positions][head_dim / 2]
  std::vector<float> sine_;         // [positions][head_dim / 2]
};

}  // namespace scorecast::shard

#pragma once

#include <cstdint>
#include <vector>

#include "proto/model/model_config.h"
#include "proto/model/partition.h"

namespace scorecast::bench {

/// The bare matrix products of one pass, as the library does them best: whole, with its own
/// threads. What a pass would take if nothing else cost anything.
class RawGemms {
 public:
  RawGemms(const proto::ModelConfig& config, const proto::Partition& partition, int threads);

  /// Runs those of a pass over `rows` rows of which `reads` get logits; returns seconds.
  double Run(std::int64_t rows, std::int64_t reads);

  /// Floating-point operations of them.
  double Operations(std::int64_t rows, std::int64_t reads) const;

 private:
  struct Weight {
    std::int64_t out = 0;
    std::int64_t in = 0;
    std::vector<float> values;  // [out, in]
  };

  void Multiply(const Weight& weight, std::int64_t rows);

  std::int64_t layers_;
  int threads_;
  std::vector<std::vector<Weight>> layer_weights_;  // A few layers', used in turns.
  Weight lm_head_;
  std::vector<float> input_;
  std::vector<float> output_;
};

}  // namespace scorecast::bench

#pragma once

#include <cstdint>

#include "proto/model/model_config.h"
#include "proto/model/partition.h"
#include "proto/plan/forward_plan.h"

namespace scorecast::shard {

/// What one rank needs, in bytes, when the largest plan is computed.
struct MemoryEstimate {
  std::int64_t weights = 0;      ///< Its slices, as float32.
  std::int64_t activations = 0;  ///< Buffers for the largest plan.
  std::int64_t kv = 0;           ///< Keys and values of one pass and those kept between passes.

  std::int64_t total() const { return weights + activations + kv; }
};

MemoryEstimate EstimateMemory(const proto::ModelConfig& config, const proto::Partition& partition,
                              const proto::PlanLimits& limits);

/// Parameters of the whole model; a tied lm-head counts once.
std::int64_t CountParameters(const proto::ModelConfig& config);

}  // namespace scorecast::shard

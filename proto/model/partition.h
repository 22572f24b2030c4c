#pragma once

#include <cstdint>

#include "proto/base/range.h"
#include "proto/model/model_config.h"

namespace scorecast::proto {

/// What one rank of a tensor-parallel group holds. Pure arithmetic: every rank computes the same
/// answer for every other.
struct Partition {
  Range heads;         ///< Query heads; never empty.
  Range kv_heads;      ///< The K/V heads that `heads` use; ranks may share one at an edge.
  Range intermediate;  ///< Columns of gate and up, rows of down; may be empty.
  Range vocabulary;    ///< Rows of the lm-head; may be empty.

  bool operator==(const Partition&) const = default;
};

/// Intermediate and vocabulary ranges begin at multiples of this, so that kernels see whole
/// vectors.
inline constexpr std::int64_t kPartitionGrain = 16;

/// Query heads are dealt out contiguously, as evenly as they go, the first ranks having one more;
/// so are grains of the intermediate and the vocabulary dimension.
/// Throws StartupError where `size` is larger than the number of query heads.
Partition MakePartition(const ModelConfig& config, int rank, int size);

}  // namespace scorecast::proto

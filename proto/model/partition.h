#pragma once

#include <cstdint>

#include "proto/base/range.h"
#include "proto/model/model_config.h"

namespace scorecast::proto {

/// The part of the model that one rank of a tensor-parallel group holds. Every rank can compute the
/// part of every other rank.
struct Partition {
  Range heads;         ///< Query heads; never empty.
  Range kv_heads;      ///< K/V heads that `heads` use; neighbour ranks may share one.
  Range intermediate;  ///< Columns of gate and up, rows of down; may be empty.
  Range vocabulary;    ///< Rows of the lm-head, or of a classifier's head; may be empty.
  Range columns;       ///< Columns of rows that are pooled; may be empty.

  bool operator==(const Partition&) const = default;
};

/// Intermediate and vocabulary ranges begin at multiples of this, so that kernels work on whole
/// vectors.
inline constexpr std::int64_t kPartitionGrain = 16;

/// The part of rank `rank`. Each rank gets a contiguous range of query heads, and of grains of the
/// intermediate and the vocabulary dimension. If their number is not a multiple of `size`, the
/// first ranks get one more. Throws StartupError if `size` is larger than the number of query
/// heads.
Partition MakePartition(const ModelConfig& config, int rank, int size);

}  // namespace scorecast::proto

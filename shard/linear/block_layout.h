#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shard/linear/gemm_backend.h"

namespace scorecast::shard {

/// How a weight whose inputs are cut into blocks is packed, if all blocks are computed together:
/// the panels of all chunks follow each other, and each panel has its part of all blocks.
struct BlockLayout {
  struct Chunk {
    std::int64_t width = 0;
    std::int64_t first_output = 0;  ///< Includes the padding of all earlier chunks.
  };
  struct Block {
    std::int64_t in = 0;
    std::int64_t before = 0;  ///< Inputs of the blocks before it.
    BlockStep step;
  };

  /// Whether the kernels have room for the sums that wait for others.
  static bool Supports(std::span<const BlockStep> steps);

  BlockLayout(std::span<const WeightSource> sources, std::span<const BlockStep> steps,
              std::int64_t panel_outputs);

  /// Where a block's part of the panel begins that begins at `output`, which includes padding.
  std::int64_t Offset(std::int64_t output, const Block& block) const {
    return output * in + block.before * panel;
  }

  std::int64_t panel = 0;  ///< Outputs of a panel.
  std::vector<Block> blocks;
  std::vector<Chunk> chunks;
  std::int64_t in = 0;       ///< Of all blocks.
  std::int64_t outputs = 0;  ///< With padding.
};

}  // namespace scorecast::shard

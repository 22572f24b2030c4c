#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shard/kernels/int8_product_kernels.h"
#include "shard/linear/block_layout.h"
#include "shard/linear/gemm_backend.h"
#include "shard/runtime/aligned_buffer.h"
#include "shard/runtime/thread_pool.h"

namespace scorecast::shard {

/// A weight of int8 numbers whose inputs are cut into blocks, in the layout of Int8BlockProduct. A
/// block has the scales that it would have as a weight of its own.
class Int8BlockWeight : public PackedBlocks {
 public:
  /// Whether the kernels have such products, and the blocks and steps are as they need them.
  static bool Supports(const Kernels& kernels, std::span<const WeightSource> blocks,
                       std::span<const BlockStep> steps);

  /// Reads, rounds and packs the blocks on all threads of the pool. With `uses_amx`, products of
  /// kAmxRows and more are computed by kMultiplyInt8BlocksWithAmx, with the same bits.
  Int8BlockWeight(const Kernels& kernels, bool uses_amx, std::span<const WeightSource> blocks,
                  std::span<const BlockStep> steps, ThreadPool& pool);

  std::int64_t column_granule() const override { return layout_.panel; }
  void Multiply(const BlockActivations& x, std::int64_t first_row, std::int64_t rows,
                std::int64_t chunk, proto::Range columns, float* y) const override;

 private:
  /// Packs a block's part of a chunk: `rows`, which are overwritten.
  void PackChunk(const Kernels& kernels, std::size_t block, std::size_t index, float* rows);

  const Int8ProductKernels& kernels_;
  bool uses_amx_;
  BlockLayout layout_;
  AlignedBuffer<std::int8_t> packed_;
  std::vector<float> scales_;          // [blocks][outputs]
  std::vector<std::int32_t> offsets_;  // [blocks][outputs]
};

}  // namespace scorecast::shard

#pragma once

#include <cstdint>
#include <span>

#include "shard/linear/block_layout.h"
#include "shard/linear/gemm_backend.h"
#include "shard/runtime/aligned_buffer.h"
#include "shard/runtime/thread_pool.h"

namespace scorecast::shard {

/// A weight in bfloat16 whose inputs are cut into blocks, for products by AMX
/// (kMultiplyBf16BlocksWithAmx).
class Bf16BlockWeight : public PackedBlocks {
 public:
  /// Whether the blocks and steps are as AMX needs them.
  static bool Supports(std::span<const WeightSource> blocks, std::span<const BlockStep> steps);

  /// Reads, rounds and packs the blocks on all threads of the pool.
  Bf16BlockWeight(const Kernels& kernels, std::span<const WeightSource> blocks,
                  std::span<const BlockStep> steps, ThreadPool& pool);

  std::int64_t column_granule() const override { return layout_.panel; }
  void Multiply(const BlockActivations& x, std::int64_t first_row, std::int64_t rows,
                std::int64_t chunk, proto::Range columns, float* y) const override;

 private:
  BlockLayout layout_;
  AlignedBuffer<std::uint16_t> packed_;
};

}  // namespace scorecast::shard

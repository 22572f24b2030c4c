#pragma once

#include <cstdint>
#include <vector>

#include "shard/kernels/int8_product_kernels.h"
#include "shard/linear/gemm_backend.h"
#include "shard/runtime/aligned_buffer.h"
#include "shard/runtime/thread_pool.h"

namespace scorecast::shard {

/// A weight of int8 numbers in the layout of Int8ProductKernels. Sums of products are exact.
class Int8PanelWeight : public PackedWeight {
 public:
  /// Reads, rounds and packs `source` on all threads of the pool. `scratch` has a buffer of at
  /// least kInt8Scratch bytes for each thread. Throws StartupError if `source` has more than
  /// kDeepestInt8 inputs.
  Int8PanelWeight(const Kernels& kernels, const WeightSource& source, ThreadPool& pool,
                  std::vector<AlignedBuffer<float>>& scratch);

  std::int64_t column_granule() const override { return kernels_.panel; }
  void Multiply(const Activations& x, std::int64_t first_row, std::int64_t rows, std::int64_t chunk,
                proto::Range columns, float* y, int thread) const override;

 private:
  struct Chunk {
    std::int64_t width = 0;
    std::int64_t first_output = 0;  // Includes the padding of all earlier chunks.
  };

  const Int8ProductKernels& kernels_;
  std::int64_t in_;
  std::int64_t padded_in_;
  std::vector<Chunk> chunks_;
  AlignedBuffer<std::int8_t> packed_;  // All chunks.
  std::vector<float> scales_;          // One for each output, with padding.
  std::vector<std::int32_t> offsets_;  // One for each output, with padding.
  std::vector<AlignedBuffer<float>>& scratch_;
};

}  // namespace scorecast::shard

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "shard/checkpoint/tensor_view.h"
#include "shard/kernels/product_kernels.h"
#include "shard/linear/gemm_backend.h"
#include "shard/linear/precision.h"
#include "shard/runtime/aligned_buffer.h"
#include "shard/runtime/thread_pool.h"

namespace scorecast::shard {

/// Type of a weight's numbers in memory: bfloat16 if products are, else the checkpoint's type,
/// because widening loses nothing.
constexpr Dtype PanelType(Precision precision, Dtype stored) {
  return precision == Precision::kBfloat16 ? Dtype::kBF16 : stored;
}

/// A weight in the panels of ProductKernels. Each output is one chain of multiply-adds, so its bits
/// depend neither on what else is computed nor on the type of the numbers in memory.
class PanelWeight : public PackedWeight {
 public:
  /// Scratch of one thread: [kProductScratch].
  using Scratch = AlignedBuffer<float>;

  /// Reads and packs `source` on all threads of the pool. `scratch` has one buffer for each thread.
  /// `precision` is not kInt8.
  PanelWeight(const Kernels& kernels, Precision precision, const WeightSource& source,
              ThreadPool& pool, std::vector<Scratch>& scratch);

  std::int64_t column_granule() const override { return kPanelOutputs; }
  void Multiply(const Activations& x, std::int64_t first_row, std::int64_t rows, std::int64_t chunk,
                proto::Range columns, float* y, int thread) const override;

 private:
  MultiplyPanels multiply_;
  std::int64_t in_;
  std::int64_t panel_bytes_;
  std::vector<std::int64_t> first_panels_;  // The first panel of each chunk.
  AlignedBuffer<std::byte> panels_;
  std::vector<Scratch>& scratch_;
};

}  // namespace scorecast::shard

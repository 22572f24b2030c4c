#pragma once

#include <memory>
#include <string>
#include <vector>

#include "shard/linear/gemm_backend.h"
#include "shard/linear/sgemm_panels.h"
#include "shard/runtime/aligned_buffer.h"

namespace scorecast::shard {

/// Products by OpenBLAS, which has float32 only: weights of the other precisions are kept as they
/// are and widened for each call, which any CPU can do.
class OpenBlasBackend : public GemmBackend {
 public:
  OpenBlasBackend(const Kernels& kernels, int threads);

  std::unique_ptr<PackedWeight> Pack(Precision precision, const WeightSource& source,
                                     ThreadPool& pool) override;
  std::string Description(Precision precision) const override;

  /// What one thread widens into.
  struct Scratch {
    AlignedBuffer<float> x;  // [kMostTileRows, in]
    AlignedBuffer<float> w;  // [width, in]
  };

 private:
  const Kernels& kernels_;
  SgemmPanels panels_;
  std::vector<Scratch> scratch_;  // [threads]
};

}  // namespace scorecast::shard

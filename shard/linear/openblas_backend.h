#pragma once

#include <memory>
#include <string>
#include <vector>

#include "shard/linear/gemm_backend.h"
#include "shard/linear/sgemm_panels.h"
#include "shard/runtime/aligned_buffer.h"

namespace scorecast::shard {

/// Products of float32 and bfloat16 by OpenBLAS, on any CPU. OpenBLAS computes in float32 only:
/// weights of bfloat16 are widened for each call.
class OpenBlasBackend : public GemmBackend {
 public:
  OpenBlasBackend(const Kernels& kernels, int threads);

  /// The version and the core whose kernels OpenBLAS has chosen: "0.3.21 Haswell".
  static std::string Variant(Precision precision);

  std::unique_ptr<PackedWeight> Pack(Precision precision, const WeightSource& source,
                                     ThreadPool& pool) override;
  std::string Description(Precision precision) const override;
  std::vector<std::int64_t> Heights(Precision precision) const override;

  /// One thread's buffers for widened numbers.
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

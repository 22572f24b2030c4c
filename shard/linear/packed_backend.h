#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "shard/linear/gemm_backend.h"
#include "shard/linear/panel_weight.h"
#include "shard/linear/precision.h"

namespace scorecast::shard {

/// Our own products, computed by ProductKernels and Int8ProductKernels. Rows keep their bits by
/// construction, so nothing is checked at start-up.
class PackedBackend : public GemmBackend {
 public:
  PackedBackend(const Kernels& kernels, int threads);

  std::unique_ptr<PackedWeight> Pack(Precision precision, const WeightSource& source,
                                     ThreadPool& pool) override;
  /// Of int8 weights, if the CPU adds up products of bytes.
  std::unique_ptr<PackedBlocks> PackBlocks(Precision precision,
                                           std::span<const WeightSource> blocks,
                                           std::span<const BlockStep> steps,
                                           ThreadPool& pool) override;
  std::string Description(Precision precision) const override;
  std::vector<std::int64_t> Heights(Precision precision) const override;

 private:
  const Kernels& kernels_;
  std::vector<PanelWeight::Scratch> scratch_;
};

}  // namespace scorecast::shard

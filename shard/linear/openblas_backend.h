#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "shard/linear/gemm_backend.h"

namespace scorecast::shard {

/// Float32 by cblas_sgemm. OpenBLAS chooses its kernel by the size of the whole product and by a
/// row's place in it, and both may show in the bits (its AVX2 kernels treat two halves of twelve
/// rows differently). So it is only ever given panels of a few fixed heights and widths, of which a
/// self-check finds that a row's bits are the same in every place of them all.
class OpenBlasBackend : public GemmBackend {
 public:
  OpenBlasBackend();

  std::unique_ptr<PackedWeight> Pack(AlignedBuffer<float> weight, std::int64_t out,
                                     std::int64_t in) override;
  std::string Description() const override;

 private:
  /// Panel heights that are safe for products of this width and depth, the tallest first.
  const std::vector<std::int64_t>& PanelHeights(std::int64_t columns, std::int64_t in);

  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::int64_t>> checked_heights_;
};

}  // namespace scorecast::shard

#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace scorecast::shard {

/// Products by cblas_sgemm whose rows do not depend on each other. OpenBLAS chooses its kernel by
/// the size of the whole product and by a row's place in it, and both may show in the bits (its
/// AVX2 kernels treat two halves of twelve rows differently). So it is only ever given panels of a
/// few fixed heights, of which a self-check finds that a row's bits are the same in every place of
/// them all.
class SgemmPanels {
 public:
  /// Heights that are safe for products of this width and depth, the tallest first; checked when
  /// first asked for.
  const std::vector<std::int64_t>& Heights(std::int64_t columns, std::int64_t in);

  /// y [rows, columns] = x [rows, in] · wᵀ, w [columns, in], all dense; `rows` is a multiple of 16.
  static void Multiply(const std::vector<std::int64_t>& heights, const float* x, std::int64_t rows,
                       const float* w, std::int64_t columns, std::int64_t in, float* y);

 private:
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::int64_t>> checked_;
};

}  // namespace scorecast::shard

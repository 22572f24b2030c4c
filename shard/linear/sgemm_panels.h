#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace scorecast::shard {

/// Products by cblas_sgemm in which a row's bits depend on that row alone. OpenBLAS chooses its
/// kernel by the size of the whole product and by a row's place in it, and both may change the bits
/// (its AVX2 kernels treat two halves of twelve rows differently). OpenBLAS is therefore given only
/// panels of a few fixed heights, for which a self-check has found that a row has the same bits at
/// every place in all of them.
class SgemmPanels {
 public:
  /// Safe panel heights for products of this width and depth, the tallest first. Checked at the
  /// first call for a shape.
  const std::vector<std::int64_t>& Heights(std::int64_t columns, std::int64_t in);

  /// The heights, ascending, of one of the shapes checked so far: of the shape whose tallest panel
  /// is lowest. Empty if no shape is checked.
  std::vector<std::int64_t> LowestHeights() const;

  /// y [rows, columns] = x [rows, in] · wᵀ, w [columns, in], all dense; `rows` is a multiple of 16.
  static void Multiply(const std::vector<std::int64_t>& heights, const float* x, std::int64_t rows,
                       const float* w, std::int64_t columns, std::int64_t in, float* y);

 private:
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::int64_t>> checked_;
};

}  // namespace scorecast::shard

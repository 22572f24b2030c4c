#pragma once

#include <cstddef>
#include <cstdint>

#include "shard/kernels/kernels.h"
#include "shard/linear/precision.h"

namespace scorecast::shard {

/// Buffers have room for multiples of so many rows, to which a GEMM may round up what it is given:
/// the only padding that is ever computed. What the rows past the last hold does not matter.
inline constexpr std::int64_t kRowGranule = 16;

constexpr std::int64_t RoundUpRows(std::int64_t rows) {
  return (rows + kRowGranule - 1) / kRowGranule * kRowGranule;
}

/// Rows of floats, `stride` floats apart.
template <typename T>
struct Rows {
  T* data = nullptr;
  std::int64_t stride = 0;

  T* operator[](std::int64_t row) const { return data + row * stride; }
};

/// Rows as matrix products take them: dense, [rows][width] of float32, bfloat16, or bytes of which
/// each row has a scale: x, rotated (Kernels::rotate), ≈ scale · (byte - 128). Does not own its
/// memory.
struct Activations {
  Precision precision = Precision::kFloat32;
  std::int64_t width = 0;
  std::byte* data = nullptr;
  float* scales = nullptr;  ///< [rows], where precision is kInt8.

  std::int64_t row_bytes() const { return width * ElementSize(precision); }
  std::byte* Row(std::int64_t row) const { return data + row * row_bytes(); }

  /// Rounds x [width], which may be overwritten, into a row. A row's bits depend on it alone.
  void Set(const Kernels& kernels, std::int64_t row, float* x) const;
  /// Copies a row of `from`, of the same precision and width.
  void CopyRow(std::int64_t row, const Activations& from, std::int64_t from_row) const;
};

}  // namespace scorecast::shard

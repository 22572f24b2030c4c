#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "shard/kernels/kernels.h"
#include "shard/linear/precision.h"

namespace scorecast::shard {

/// Buffers have room for a multiple of this many rows, because a GEMM may round the number of rows
/// up to such a multiple. No other padding is ever computed. The contents of the padding rows do
/// not matter.
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

/// Rows in the form that matrix products take: dense, [rows][width] of float32, bfloat16 or, for
/// int8, bytes with one scale for each row: rotated x (Kernels::rotate) ≈ scale · (byte - 128).
/// Does not own its memory.
struct Activations {
  Precision precision = Precision::kFloat32;
  std::int64_t width = 0;
  std::byte* data = nullptr;
  float* scales = nullptr;  ///< [rows] if precision is kInt8, else unused.

  std::int64_t row_bytes() const { return width * ElementSize(precision); }
  std::byte* Row(std::int64_t row) const { return data + row * row_bytes(); }

  /// The rows from `row` on.
  Activations From(std::int64_t row) const {
    return {precision, width, Row(row), scales == nullptr ? nullptr : scales + row};
  }

  /// Rounds x [width] into a row; may overwrite x. A row's bits depend on that row alone.
  void Set(const Kernels& kernels, std::int64_t row, float* x) const;
  /// Copies a row of `from`, which has the same precision and width.
  void CopyRow(std::int64_t row, const Activations& from, std::int64_t from_row) const;
};

/// Rows that are cut into blocks of columns. A block has all its rows together, in the form that
/// matrix products take: in int8, each row of a block is rotated and scaled by itself. One block is
/// like Activations. Does not own its memory.
struct BlockActivations {
  Precision precision = Precision::kFloat32;
  std::span<const std::int64_t> borders;  ///< [blocks + 1]: columns, from 0.
  std::int64_t max_rows = 0;              ///< Rows for which each block has room.
  std::byte* data = nullptr;
  float* scales = nullptr;  ///< [blocks][max_rows] if precision is kInt8, else unused.

  std::int64_t blocks() const { return static_cast<std::int64_t>(borders.size()) - 1; }
  std::int64_t width() const { return borders.back(); }
  Activations Block(std::int64_t block) const;
  /// Where a column of a row is. The columns behind it, up to the block's end, follow.
  std::byte* At(std::int64_t row, std::int64_t column) const;

  /// Rounds x [width()] into a row; may overwrite x. A row's bits depend on that row alone.
  void Set(const Kernels& kernels, std::int64_t row, float* x) const;
};

}  // namespace scorecast::shard

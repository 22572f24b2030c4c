#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "proto/model/partition.h"
#include "shard/runtime/aligned_buffer.h"

namespace scorecast::shard {

/// Rows of activations are given to a backend in multiples of this, zero-padded: the only padding
/// that a GEMM ever computes.
inline constexpr std::int64_t kRowGranule = 16;

constexpr std::int64_t RoundUpRows(std::int64_t rows) {
  return (rows + kRowGranule - 1) / kRowGranule * kRowGranule;
}

/// Activations of several rows, `stride` floats apart.
template <typename T>
struct Rows {
  T* data = nullptr;
  std::int64_t stride = 0;

  T* operator[](std::int64_t row) const { return data + row * stride; }
};

/// A weight W [out, in] in the layout that its backend likes.
class PackedWeight {
 public:
  virtual ~PackedWeight() = default;

  /// The most rows, a multiple of kRowGranule, that Multiply takes at once.
  virtual std::int64_t max_panel_rows() const = 0;

  /// y[0 … rows, columns] = x[0 … rows, in] · Wᵀ for the outputs `columns`, which begin and end at
  /// multiples of column_grain(), or end with the last one. `rows` is a multiple of kRowGranule, at
  /// most max_panel_rows().
  /// A row's bits depend on that row alone. Single-threaded; safe to call from several threads.
  virtual void Multiply(Rows<const float> x, std::int64_t rows, proto::Range columns,
                        Rows<float> y) const = 0;

  /// How many outputs make one task. Fixed, since the choice may show in the bits.
  virtual std::int64_t column_grain() const = 0;
};

/// A library's (or our own) matrix multiplication.
class GemmBackend {
 public:
  virtual ~GemmBackend() = default;

  /// Takes W [out, in], row-major.
  virtual std::unique_ptr<PackedWeight> Pack(AlignedBuffer<float> weight, std::int64_t out,
                                             std::int64_t in) = 0;

  /// For the log, e.g. "OpenBLAS 0.3.21 SkylakeX".
  virtual std::string Description() const = 0;
};

}  // namespace scorecast::shard

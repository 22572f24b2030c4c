#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "shard/linear/activations.h"
#include "shard/runtime/aligned_buffer.h"
#include "shard/runtime/thread_pool.h"

namespace scorecast::shard {

/// Rows of one call, at most.
inline constexpr std::int64_t kMostTileRows = 128;

/// Where a weight W [out, in] comes from, in chunks of outputs.
struct WeightSource {
  std::vector<std::int64_t> widths;  ///< Outputs of each chunk; add up to `out`.
  std::int64_t in = 0;
  /// Writes the rows of W of one chunk: [width, in]. Called from several threads.
  std::function<void(std::int64_t chunk, float* rows)> read;
};

/// A weight in the layout that its backend likes.
class PackedWeight {
 public:
  virtual ~PackedWeight() = default;

  /// y[0 … rows, width] = x[first_row … first_row + rows, in] · Wᵀ for one chunk of outputs; y is
  /// dense. At most kMostTileRows rows; x and y have room for RoundUpRows(rows). A row's bits depend
  /// on that row alone. Single-threaded; `thread` says which of the pool's calls.
  virtual void Multiply(const Activations& x, std::int64_t first_row, std::int64_t rows,
                        std::int64_t chunk, float* y, int thread) const = 0;
};

/// What one thread packs a weight with: rows as they are read, and as they are rounded. Pages that
/// are used again and again cost less than new ones for each chunk.
struct PackScratch {
  PackScratch(const WeightSource& source, Precision precision);

  AlignedBuffer<float> rows;             // [widest chunk, in]
  AlignedBuffer<std::uint16_t> rounded;  // [widest chunk, in], of bfloat16
};

/// A library's matrix multiplication.
class GemmBackend {
 public:
  virtual ~GemmBackend() = default;

  /// Reads and packs a weight, chunk by chunk, on all threads of the pool.
  virtual std::unique_ptr<PackedWeight> Pack(Precision precision, const WeightSource& source,
                                             ThreadPool& pool) = 0;

  /// For the log, e.g. "OpenBLAS SkylakeX": what computes products of this precision.
  virtual std::string Description(Precision precision) const = 0;
};

}  // namespace scorecast::shard

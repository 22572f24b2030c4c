#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "proto/base/range.h"

namespace scorecast::shard {

/// Stored types that we read; little-endian.
enum class Dtype : std::uint8_t { kF32, kF16, kBF16 };

constexpr std::int64_t ItemSize(Dtype dtype) { return dtype == Dtype::kF32 ? 4 : 2; }

class WeightFile;

/// A tensor in a file, or a copy of one in memory: row-major, of any alignment. Owns neither.
struct TensorView {
  Dtype dtype = Dtype::kF32;
  std::vector<std::int64_t> shape;
  const WeightFile* file = nullptr;
  std::int64_t offset = 0;  ///< Offset of the first byte in the file.
  std::int64_t bytes = 0;
  /// The tensor itself, which is then not read from the file; null if it is not in memory.
  const std::byte* memory = nullptr;

  std::int64_t num_elements() const { return bytes / ItemSize(dtype); }
};

/// "[320, 48]"
std::string ShapeText(std::span<const std::int64_t> shape);

// Parts of a tensor as float32. The conversion is exact, because F16 and BF16 are subsets of it
// (NaN stays NaN). Only the bytes of the part are read, by any number of threads. The functions
// throw FileChanged as WeightFile::Read does. A part outside of the tensor is a broken invariant,
// because callers have checked the tensor's shape (Checkpoint::Require).

/// Reads rows of a tensor [rows, …], whose other dimensions count as one: `out` is [rows.size(),
/// columns].
void ReadRows(const TensorView& tensor, proto::Range rows, float* out);

/// Reads a block of a tensor [rows, columns]: `out` is [rows.size(), cols.size()], with rows
/// `out_stride` floats apart.
void ReadBlock(const TensorView& tensor, proto::Range rows, proto::Range cols, float* out,
               std::int64_t out_stride);

}  // namespace scorecast::shard

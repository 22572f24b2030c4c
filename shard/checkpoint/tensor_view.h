#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace scorecast::shard {

/// Stored types that we read; little-endian.
enum class Dtype : std::uint8_t { kF32, kF16, kBF16 };

constexpr std::int64_t ItemSize(Dtype dtype) { return dtype == Dtype::kF32 ? 4 : 2; }

class WeightFile;

/// A tensor in a file: row-major, of any alignment. Does not own the file.
struct TensorView {
  Dtype dtype = Dtype::kF32;
  std::vector<std::int64_t> shape;
  const WeightFile* file = nullptr;
  std::int64_t offset = 0;  ///< Offset of the first byte in the file.
  std::int64_t bytes = 0;

  std::int64_t num_elements() const { return bytes / ItemSize(dtype); }
};

/// "[320, 48]"
std::string ShapeText(std::span<const std::int64_t> shape);

}  // namespace scorecast::shard

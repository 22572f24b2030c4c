#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace scorecast::shard {

/// How a tensor that we read is stored; little-endian.
enum class Dtype : std::uint8_t { kF32, kF16, kBF16 };

constexpr std::int64_t ItemSize(Dtype dtype) { return dtype == Dtype::kF32 ? 4 : 2; }

/// A tensor in a mapped file: row-major, of any alignment. Does not own its bytes.
struct TensorView {
  Dtype dtype = Dtype::kF32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;

  std::int64_t num_elements() const {
    return static_cast<std::int64_t>(bytes.size()) / ItemSize(dtype);
  }
};

/// "[320, 48]"
std::string ShapeText(std::span<const std::int64_t> shape);

}  // namespace scorecast::shard

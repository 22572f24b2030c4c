#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace scorecast::bench {

/// Random numbers. Constant data will not do, because a CPU's clock may depend on the data.
class RandomNumbers {
 public:
  /// In [-1, 1).
  float Next() { return static_cast<float>(static_cast<std::int32_t>(Bits())) * 0x1p-31F; }
  std::uint32_t Bits() { return state_ = state_ * 1664525U + 1013904223U; }

 private:
  std::uint32_t state_ = 1;
};

/// Bytes of one number of a dtype.
constexpr std::size_t SizeOf(const std::string& dtype) {
  return dtype == "f32" ? 4 : dtype == "bf16" ? 2 : 1;
}

/// Fills `bytes` with numbers of the dtype: in [-1, 1) for f32 and bf16, any for int8.
inline void FillRandom(const std::string& dtype, std::span<std::byte> bytes) {
  RandomNumbers random;
  const std::size_t size = SizeOf(dtype);
  for (std::size_t at = 0; at + size <= bytes.size(); at += size) {
    // Takes the upper bytes: the upper half of a float is its BF16.
    const std::uint32_t bits =
        size == 1 ? random.Bits() : std::bit_cast<std::uint32_t>(random.Next());
    for (std::size_t i = 0; i < size; ++i) {
      bytes[at + i] = static_cast<std::byte>(bits >> (8 * (4 - size + i)));
    }
  }
}

}  // namespace scorecast::bench

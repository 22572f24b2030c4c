#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace scorecast::bench {

/// Numbers that change from place to place, since a CPU's clock may depend on them.
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

/// Fills `bytes` with numbers of that dtype, in [-1, 1) where it has fractions.
inline void FillRandom(const std::string& dtype, std::span<std::byte> bytes) {
  RandomNumbers random;
  const std::size_t size = SizeOf(dtype);
  for (std::size_t at = 0; at + size <= bytes.size(); at += size) {
    // The upper half of a float is its BF16; the upper byte of random bits is as good as any.
    const std::uint32_t bits =
        size == 1 ? random.Bits() : std::bit_cast<std::uint32_t>(random.Next());
    for (std::size_t i = 0; i < size; ++i) {
      bytes[at + i] = static_cast<std::byte>(bits >> (8 * (4 - size + i)));
    }
  }
}

}  // namespace scorecast::bench

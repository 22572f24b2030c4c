#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <vector>

namespace scorecast::testing {

/// Uniform in [-size, size), with at least as many different mantissas as float32 has.
inline float RandomFloat(std::mt19937& random, float size = 1.0F) {
  return static_cast<float>(static_cast<std::int32_t>(random())) * 0x1p-31F * size;
}

inline std::vector<float> RandomFloats(std::mt19937& random, std::int64_t n, float size = 1.0F) {
  std::vector<float> numbers(static_cast<std::size_t>(n));
  for (float& number : numbers) {
    number = RandomFloat(random, size);
  }
  return numbers;
}

/// Uniform in [low, high].
inline std::int32_t RandomInt(std::mt19937& random, std::int64_t low, std::int64_t high) {
  const auto count = static_cast<std::uint64_t>(high - low) + 1;
  return static_cast<std::int32_t>(low + static_cast<std::int64_t>(random() % count));
}

/// Whether all bits are equal, including the signs of zeros and NaNs.
inline bool SameBits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

}  // namespace scorecast::testing

#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

namespace scorecast::testing {

/// Largest relative error of rounding to bfloat16, which has 8 binary digits: half a unit in the
/// last.
inline constexpr double kBf16Roundoff = 0x1p-8;

inline float FromBf16(std::uint16_t x) { return std::bit_cast<float>(std::uint32_t{x} << 16U); }

/// The nearest bfloat16, ties to even, found by comparing distances instead of by carrying. A NaN
/// becomes a NaN.
inline std::uint16_t ToBf16(float x) {
  const auto below = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16U);
  if (std::isnan(x)) {
    return static_cast<std::uint16_t>(below | 0x40U);
  }
  if (std::isinf(x)) {
    return below;
  }
  // The two neighbours: towards zero, and away from zero. If the latter is infinity, the next power
  // of two takes its place.
  const auto above = static_cast<std::uint16_t>(below + 1U);
  const double size = std::abs(static_cast<double>(x));
  const double low = std::abs(static_cast<double>(FromBf16(below)));
  const float next = std::abs(FromBf16(above));
  const double high = std::isinf(next) ? 0x1p128 : static_cast<double>(next);
  if (size - low == high - size) {
    return (below & 1U) == 0 ? below : above;
  }
  return size - low < high - size ? below : above;
}

inline float RoundToBf16(float x) { return FromBf16(ToBf16(x)); }

inline std::vector<float> RoundToBf16(std::vector<float> numbers) {
  for (float& x : numbers) {
    x = RoundToBf16(x);
  }
  return numbers;
}

}  // namespace scorecast::testing

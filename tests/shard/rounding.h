#pragma once

#include <cstdint>

namespace scorecast::testing {

/// The largest relative error of one float32 operation.
inline constexpr double kUnitRoundoff = 0x1p-24;

/// The largest relative error of `operations` float32 operations one after the other: Higham's γ,
/// "Accuracy and Stability of Numerical Algorithms", lemma 3.1.
constexpr double Gamma(std::int64_t operations) {
  const double error = static_cast<double>(operations) * kUnitRoundoff;
  return error / (1 - error);
}

/// Below it is what some instructions take for zero.
inline constexpr double kSmallestNormal = 0x1p-126;

/// The relative error of our kernels' exp, apart from that of its argument: Cephes, whose expf it
/// is, gives 1.7e-7 as the largest.
inline constexpr double kExpError = 3 * kUnitRoundoff;

/// Below this the kernels' exp stays where it is; so it is wrong by about as much.
inline constexpr double kExpFloor = 2e-38;

/// Vectors of the kernels have 16 lanes: the longest chain of additions when `n` numbers are summed
/// lane by lane, and then the lanes as a tree.
constexpr std::int64_t LaneSumDepth(std::int64_t n) { return (n + 15) / 16 + 4; }

}  // namespace scorecast::testing

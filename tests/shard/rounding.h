#pragma once

#include <cstdint>

namespace scorecast::testing {

/// Largest relative error of one float32 operation.
inline constexpr double kUnitRoundoff = 0x1p-24;

/// Largest relative error of `operations` float32 operations one after the other: Higham's γ,
/// "Accuracy and Stability of Numerical Algorithms", lemma 3.1.
constexpr double Gamma(std::int64_t operations) {
  const double error = static_cast<double>(operations) * kUnitRoundoff;
  return error / (1 - error);
}

/// Some instructions treat smaller numbers as zero.
inline constexpr double kSmallestNormal = 0x1p-126;

/// Relative error of the kernels' exp, without the error of its argument. It is Cephes' expf, which
/// states a largest error of 1.7e-7.
inline constexpr double kExpError = 3 * kUnitRoundoff;

/// The kernels' exp never falls below about this value, so its absolute error may be as large.
inline constexpr double kExpFloor = 2e-38;

/// Relative error of the kernels' tanh, which is e / (e + 2) with e = exp(2 |x|) - 1: at most the
/// errors of e, of the sum and of the quotient. The largest error found is 3.02 · 2⁻²⁴ over all
/// float32 numbers from 0.001 to 12, and less outside of this range, with fused operations and
/// without.
inline constexpr double kTanhError = 4 * kUnitRoundoff;

/// Length of the longest chain of additions when a kernel sums `n` numbers: first lane by lane in
/// vectors of 16, then the lanes as a tree.
constexpr std::int64_t LaneSumDepth(std::int64_t n) { return (n + 15) / 16 + 4; }

}  // namespace scorecast::testing

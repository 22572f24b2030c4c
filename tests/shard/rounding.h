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

/// Some instructions take smaller numbers for zero.
inline constexpr double kSmallestNormal = 0x1p-126;

/// Relative error of the kernels' exp, apart from that of its argument. It is Cephes' expf, which
/// states a largest error of 1.7e-7.
inline constexpr double kExpError = 3 * kUnitRoundoff;

/// The kernels' exp never falls below about this value, so it may be wrong by as much.
inline constexpr double kExpFloor = 2e-38;

/// Relative error of the kernels' tanh. Near 0 it is Cephes' tanhf, which states a largest error of
/// 1.3e-7. Elsewhere it is 1 - q with q = 2 / (exp + 1) ≤ 0.45: the errors of q are those of exp
/// (times at most 1), of the sum and of the quotient, and the difference is at least 0.55.
inline constexpr double kTanhError = 0.45 / 0.55 * (kExpError + 2 * kUnitRoundoff) + kUnitRoundoff;

/// Length of the longest chain of additions when a kernel sums `n` numbers: first lane by lane in
/// vectors of 16, then the lanes as a tree.
constexpr std::int64_t LaneSumDepth(std::int64_t n) { return (n + 15) / 16 + 4; }

}  // namespace scorecast::testing

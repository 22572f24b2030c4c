#pragma once

#include <array>
#include <cstddef>

namespace scorecast::coordinator {

/// Number of unknowns of the functions that are minimised.
inline constexpr std::size_t kUnknowns = 10;
using UnknownsVector = std::array<double, kUnknowns>;
using UnknownsMatrix = std::array<UnknownsVector, kUnknowns>;

/// The x that minimises x'Ax / 2 - b'x, so that Ax = b. `a` is symmetric and positive definite.
UnknownsVector Minimum(const UnknownsMatrix& a, const UnknownsVector& b);

/// The x >= 0 that minimises x'Ax / 2 - b'x, as nonnegative least squares need it. `a` is symmetric
/// and positive definite.
UnknownsVector NonnegativeMinimum(const UnknownsMatrix& a, const UnknownsVector& b);

}  // namespace scorecast::coordinator

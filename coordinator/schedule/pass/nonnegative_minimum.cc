#include "coordinator/schedule/pass/nonnegative_minimum.h"

#include <algorithm>

namespace scorecast::coordinator {
namespace {

/// Unknown i is free if bit i is set. The others are 0.
using FreeUnknowns = unsigned;

constexpr FreeUnknowns kAllFree = (1U << kUnknowns) - 1;

bool IsFree(FreeUnknowns free, std::size_t i) { return ((free >> i) & 1U) != 0; }

/// The minimum over the free unknowns, which may be negative. By Gaussian elimination, which needs
/// no pivoting because A is positive definite.
UnknownsVector FreeMinimum(UnknownsMatrix a, UnknownsVector b, FreeUnknowns free) {
  for (std::size_t i = 0; i < kUnknowns; ++i) {
    if (!IsFree(free, i)) {
      for (std::size_t j = 0; j < kUnknowns; ++j) {
        a[i][j] = a[j][i] = 0;
      }
      a[i][i] = 1;
      b[i] = 0;
    }
  }
  for (std::size_t i = 0; i < kUnknowns; ++i) {
    for (std::size_t j = i + 1; j < kUnknowns; ++j) {
      const double factor = a[j][i] / a[i][i];
      for (std::size_t k = i; k < kUnknowns; ++k) {
        a[j][k] -= factor * a[i][k];
      }
      b[j] -= factor * b[i];
    }
  }
  UnknownsVector x{};
  for (std::size_t i = kUnknowns; i-- > 0;) {
    double rest = b[i];
    for (std::size_t k = i + 1; k < kUnknowns; ++k) {
      rest -= a[i][k] * x[k];
    }
    x[i] = rest / a[i][i];
  }
  return x;
}

bool IsNonnegative(const UnknownsVector& x) {
  return std::all_of(x.begin(), x.end(), [](double value) { return value >= 0; });
}

}  // namespace

UnknownsVector Minimum(const UnknownsMatrix& a, const UnknownsVector& b) {
  return FreeMinimum(a, b, kAllFree);
}

UnknownsVector NonnegativeMinimum(const UnknownsMatrix& a, const UnknownsVector& b) {
  UnknownsVector best = Minimum(a, b);
  if (IsNonnegative(best)) {
    return best;
  }
  // The minimum is a free one of some set of unknowns. Among those that are nonnegative it has the
  // least value, which is -b'x / 2. There are few sets, so all are tried.
  best = {};
  double largest = 0;
  for (FreeUnknowns free = 1; free < kAllFree; ++free) {
    const UnknownsVector x = FreeMinimum(a, b, free);
    double product = 0;
    for (std::size_t i = 0; i < kUnknowns; ++i) {
      product += b[i] * x[i];
    }
    if (product > largest && IsNonnegative(x)) {
      best = x;
      largest = product;
    }
  }
  return best;
}

}  // namespace scorecast::coordinator

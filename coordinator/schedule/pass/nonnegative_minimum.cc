#include "coordinator/schedule/pass/nonnegative_minimum.h"

#include <algorithm>
#include <cmath>

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

/// An unknown becomes free if that lowers the value by more than rounding errors may.
constexpr double kLeastGain = 1e-12;

}  // namespace

UnknownsVector Minimum(const UnknownsMatrix& a, const UnknownsVector& b) {
  return FreeMinimum(a, b, kAllFree);
}

// By Lawson and Hanson (Solving Least Squares Problems, 1974): unknowns become free one by one,
// that with the steepest descent first, and return to 0 when they would become negative.
UnknownsVector NonnegativeMinimum(const UnknownsMatrix& a, const UnknownsVector& b) {
  UnknownsVector x{};
  FreeUnknowns free = 0;
  // No set of free unknowns comes twice, unless by rounding.
  for (std::size_t step = 0; step < 4 * kUnknowns; ++step) {
    std::size_t steepest = kUnknowns;
    double most = 0;
    for (std::size_t i = 0; i < kUnknowns; ++i) {
      double descent = b[i];
      double size = std::abs(b[i]);
      for (std::size_t j = 0; j < kUnknowns; ++j) {
        descent -= a[i][j] * x[j];
        size += std::abs(a[i][j] * x[j]);
      }
      // What the value falls by if only this unknown changes is descent² / 2a.
      const double relative = descent / std::sqrt(a[i][i]);
      if (!IsFree(free, i) && descent > kLeastGain * size && relative > most) {
        most = relative;
        steepest = i;
      }
    }
    if (steepest == kUnknowns) {
      return x;
    }
    free |= 1U << steepest;
    for (UnknownsVector to = FreeMinimum(a, b, free);; to = FreeMinimum(a, b, free)) {
      double part = 1;
      for (std::size_t i = 0; i < kUnknowns; ++i) {
        if (IsFree(free, i) && to[i] < 0) {
          part = std::min(part, x[i] / (x[i] - to[i]));
        }
      }
      if (part == 1) {
        x = to;
        break;
      }
      for (std::size_t i = 0; i < kUnknowns; ++i) {
        const bool is_first = IsFree(free, i) && to[i] < 0 && x[i] <= part * (x[i] - to[i]);
        x[i] = is_first ? 0 : x[i] + part * (to[i] - x[i]);
        free &= is_first ? ~(1U << i) : kAllFree;
      }
    }
  }
  return x;
}

}  // namespace scorecast::coordinator

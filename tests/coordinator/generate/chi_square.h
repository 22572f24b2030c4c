#pragma once

#include <cmath>
#include <cstddef>
#include <span>

#include <gtest/gtest.h>

namespace scorecast::coordinator {

/// The value that chi-square with this many degrees of freedom exceeds once in 3.5 million times (5
/// sigma), by the approximation of Wilson and Hilferty (1931).
inline double ChiSquareBound(double degrees) {
  const double variance = 2 / (9 * degrees);
  return degrees * std::pow(1 - variance + 5 * std::sqrt(variance), 3);
}

/// Compares how often each token was drawn with probabilities that add up to 1. Rare tokens, which
/// are expected less than five times each, count as one.
inline void ExpectDrawnFrom(std::span<const double> probabilities, std::span<const int> counts) {
  double draws = 0;
  for (const int count : counts) {
    draws += count;
  }
  double chi_square = 0;
  double degrees = -1;
  double rare_expected = 0;
  double rare_drawn = 0;
  const auto compare = [&](double expected, double drawn) {
    chi_square += (drawn - expected) * (drawn - expected) / expected;
    ++degrees;
  };
  for (std::size_t i = 0; i < probabilities.size(); ++i) {
    const double expected = draws * probabilities[i];
    if (expected == 0) {
      EXPECT_EQ(counts[i], 0) << "token " << i;
    } else if (expected < 5) {
      rare_expected += expected;
      rare_drawn += counts[i];
    } else {
      compare(expected, counts[i]);
    }
  }
  if (rare_expected >= 5) {
    compare(rare_expected, rare_drawn);
  } else {
    EXPECT_LE(rare_drawn, 5 + 10 * std::sqrt(5.0));
  }
  if (degrees > 0) {
    EXPECT_LT(chi_square, ChiSquareBound(degrees));
  }
}

}  // namespace scorecast::coordinator

#include "coordinator/schedule/pass/nonnegative_minimum.h"

#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace scorecast::coordinator {
namespace nonnegative_minimum_test {

struct Problem {
  UnknownsMatrix a{};
  UnknownsVector b{};

  double Gradient(const UnknownsVector& x, std::size_t i) const {
    double gradient = -b[i];
    for (std::size_t j = 0; j < kUnknowns; ++j) {
      gradient += a[i][j] * x[j];
    }
    return gradient;
  }
};

/// The normal equations of `rows` random equations, and a little of the identity.
Problem RandomProblem(std::mt19937_64& random, int rows) {
  std::uniform_real_distribution<double> number(-1, 1);
  Problem problem;
  for (int row = 0; row < rows; ++row) {
    UnknownsVector equation{};
    for (double& value : equation) {
      value = number(random);
    }
    const double right = number(random);
    for (std::size_t i = 0; i < kUnknowns; ++i) {
      for (std::size_t j = 0; j < kUnknowns; ++j) {
        problem.a[i][j] += equation[i] * equation[j];
      }
      problem.b[i] += equation[i] * right;
    }
  }
  for (std::size_t i = 0; i < kUnknowns; ++i) {
    problem.a[i][i] += 1e-3;
  }
  return problem;
}

TEST(NonnegativeMinimum, MeetsTheConditionsOfKarushKuhnAndTucker) {
  std::mt19937_64 random(1);
  int zeros = 0;
  for (int i = 0; i < 1000; ++i) {
    const Problem problem = RandomProblem(random, 2 + i % 8);
    const UnknownsVector x = NonnegativeMinimum(problem.a, problem.b);
    for (std::size_t j = 0; j < kUnknowns; ++j) {
      // The condition of A is at most 10 * 9 / 1e-3, and |x| at most |b| / 1e-3 < 1e5.
      const double rounding = 1e5 * 9e4 * 10 * std::numeric_limits<double>::epsilon();
      ASSERT_GE(x[j], 0);
      ASSERT_GE(problem.Gradient(x, j), -rounding);
      if (x[j] > 0) {
        ASSERT_LE(problem.Gradient(x, j), rounding);
      }
      zeros += x[j] == 0 ? 1 : 0;
    }
  }
  EXPECT_GT(zeros, 1000);
}

TEST(NonnegativeMinimum, IsZeroIfEveryUnknownWouldBeNegative) {
  Problem problem;
  for (std::size_t i = 0; i < kUnknowns; ++i) {
    problem.a[i][i] = 1;
    problem.b[i] = -1;
  }
  EXPECT_EQ(NonnegativeMinimum(problem.a, problem.b), UnknownsVector{});
}

}  // namespace nonnegative_minimum_test
}  // namespace scorecast::coordinator

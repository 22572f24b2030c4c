// The kernels of one row, compared with float64 loops. Inputs are copied to arrays of exactly their
// size, so that AddressSanitizer sees every access past an end.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "shard/kernels/kernels.h"
#include "tests/shard/kernels/kernel_sets.h"
#include "tests/shard/random_floats.h"
#include "tests/shard/rounding.h"

namespace scorecast::shard {
namespace row_kernels_test {

using testing::Gamma;
using testing::kExpError;
using testing::kTanhError;
using testing::kUnitRoundoff;
using testing::LaneSumDepth;
using testing::RandomFloats;
using testing::SameBits;

constexpr std::int64_t kLongest = 200;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class RowKernels : public KernelsTest {
 protected:
  std::mt19937 random_{1};
};

TEST_P(RowKernels, RmsNorm) {
  for (std::int64_t n = 1; n <= kLongest; ++n) {
    for (const float size : {1.0F, 1e-6F, 1e6F}) {
      const std::vector<float> x = RandomFloats(random_, n, size);
      const std::vector<float> weight = RandomFloats(random_, n, 3);
      const float eps = 1e-5F;
      double squares = 0;
      for (const float v : x) {
        squares += static_cast<double>(v) * v;
      }
      const double rms = std::sqrt(squares / static_cast<double>(n) + static_cast<double>(eps));
      std::vector<float> out(x.size());
      kernels_.rms_norm(x.data(), weight.data(), n, eps, out.data());
      // A square, the sum, the quotient by n, + eps, the root, its inverse, two products. (The root
      // halves the error of the operations before it; the bound ignores that.)
      const double error = Gamma(1 + LaneSumDepth(n) + 6);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double expected = x[i] / rms * weight[i];
        ASSERT_NEAR(out[i], expected, std::abs(expected) * error) << "n " << n << ", i " << i;
      }
      std::vector<float> in_place = x;
      kernels_.rms_norm(in_place.data(), weight.data(), n, eps, in_place.data());
      ASSERT_TRUE(SameBits(in_place, out)) << "n " << n;
    }
  }
}

TEST_P(RowKernels, RmsNormOfNonFiniteNumbers) {
  for (const float bad : {kNan, kInfinity, -kInfinity}) {
    for (const std::int64_t n : {1, 16, 19}) {
      std::vector<float> x = RandomFloats(random_, n);
      x.back() = bad;
      const std::vector<float> weight(x.size(), 1.0F);
      std::vector<float> out(x.size());
      kernels_.rms_norm(x.data(), weight.data(), n, 1e-5F, out.data());
      EXPECT_FALSE(std::isfinite(out.back())) << bad << ", n " << n;
    }
  }
}

// Each sum is rounded once, with the same result for every instruction set.
TEST_P(RowKernels, AddIsExact) {
  for (std::int64_t n = 1; n <= kLongest; ++n) {
    const std::vector<float> x = RandomFloats(random_, n);
    const std::vector<float> y = RandomFloats(random_, n, 100);
    std::vector<float> sum = y;
    kernels_.add(x.data(), n, sum.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(sum[i], x[i] + y[i]) << "n " << n << ", i " << i;
    }
  }
}

TEST_P(RowKernels, Dot) {
  for (std::int64_t n = 0; n <= kLongest; ++n) {
    const std::vector<float> a = RandomFloats(random_, n);
    const std::vector<float> b = RandomFloats(random_, n);
    double expected = 0;
    double sizes = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double product = static_cast<double>(a[i]) * b[i];
      expected += product;
      sizes += std::abs(product);
    }
    // A product and the sum.
    ASSERT_NEAR(kernels_.dot(a.data(), b.data(), n), expected, sizes * Gamma(1 + LaneSumDepth(n)))
        << "n " << n;
  }
}

TEST_P(RowKernels, Rope) {
  for (std::int64_t head_dim = 2; head_dim <= kLongest; head_dim += 2) {
    const auto half = static_cast<std::size_t>(head_dim / 2);
    std::vector<float> cosine(half);
    std::vector<float> sine(half);
    for (std::size_t i = 0; i < half; ++i) {
      const double angle = 0.1 + 3.0 * static_cast<double>(i);
      cosine[i] = static_cast<float>(std::cos(angle));
      sine[i] = static_cast<float>(std::sin(angle));
    }
    const std::vector<float> head = RandomFloats(random_, head_dim);
    std::vector<float> found = head;
    kernels_.rope(cosine.data(), sine.data(), head_dim, found.data());
    const auto expect_sum = [&](float result, float a, float c, float b, float s) {
      const double first = static_cast<double>(a) * c;
      const double second = static_cast<double>(b) * s;
      // A product and the sum.
      ASSERT_NEAR(result, first + second, (std::abs(first) + std::abs(second)) * Gamma(2))
          << "head_dim " << head_dim;
    };
    for (std::size_t i = 0; i < half; ++i) {
      expect_sum(found[i], head[i], cosine[i], -head[i + half], sine[i]);
      expect_sum(found[i + half], head[i + half], cosine[i], head[i], sine[i]);
    }
  }
}

double SwiGluOf(double gate, double up) { return gate / (1 + std::exp(-gate)) * up; }

/// The roundings of exp, of 1 + exp, of the quotient and of the product. Below -88 the kernel's exp
/// no longer decreases.
double SwiGluTolerance(double gate, double up) {
  return std::abs(SwiGluOf(gate, up)) * (kExpError + Gamma(3)) +
         std::abs(gate * up) * std::exp(-88.0) * 1.001;
}

TEST_P(RowKernels, SwiGlu) {
  for (std::int64_t n = 1; n <= kLongest; ++n) {
    for (const float size : {1.0F, 20.0F, 120.0F}) {
      const std::vector<float> gate = RandomFloats(random_, n, size);
      const std::vector<float> up = RandomFloats(random_, n);
      std::vector<float> out(gate.size());
      kernels_.silu.gated(gate.data(), up.data(), n, out.data());
      for (std::size_t i = 0; i < gate.size(); ++i) {
        ASSERT_NEAR(out[i], SwiGluOf(gate[i], up[i]), SwiGluTolerance(gate[i], up[i]))
            << "gate " << gate[i] << ", up " << up[i];
      }
      std::vector<float> in_place = gate;
      kernels_.silu.gated(in_place.data(), up.data(), n, in_place.data());
      ASSERT_TRUE(SameBits(in_place, out)) << "n " << n;
    }
  }
}

TEST_P(RowKernels, SwiGluOfLargeNumbers) {
  const std::vector<float> gate = {0,   -0.0F, 86,  87,  88,   89,    1e4F,  1e30F,
                                   -86, -87,   -88, -89, -104, -1e4F, -1e30F};
  const std::vector<float> up(gate.size(), 0.75F);
  std::vector<float> out(gate.size());
  kernels_.silu.gated(gate.data(), up.data(), static_cast<std::int64_t>(gate.size()), out.data());
  for (std::size_t i = 0; i < gate.size(); ++i) {
    EXPECT_NEAR(out[i], SwiGluOf(gate[i], up[i]), SwiGluTolerance(gate[i], up[i])) << gate[i];
  }
}

TEST_P(RowKernels, SwiGluOfNonFiniteNumbers) {
  const std::vector<float> gate = {kNan, kInfinity, -kInfinity, 1, 1, 1, -1000};
  const std::vector<float> up = {1, 1, 1, kNan, kInfinity, -kInfinity, kNan};
  std::vector<float> out(gate.size());
  kernels_.silu.gated(gate.data(), up.data(), static_cast<std::int64_t>(gate.size()), out.data());
  for (std::size_t i = 0; i < gate.size(); ++i) {
    EXPECT_FALSE(std::isfinite(out[i])) << "gate " << gate[i] << ", up " << up[i];
  }
}

double TwoUOf(double gate) {
  return 2 * std::sqrt(2 / std::numbers::pi) * (gate + 0.044715 * gate * gate * gate);
}

double GeGluOf(double gate, double up) { return gate / (1 + std::exp(-TwoUOf(gate))) * up; }

/// The argument of exp has the roundings of two constants, three products and a sum, whose relative
/// error is at most that of exp times the argument. Then as for SwiGLU.
double GeGluTolerance(double gate, double up) {
  const double two_u = TwoUOf(gate);
  const double of_argument = std::abs(two_u) / (1 + std::exp(two_u)) * Gamma(6);
  return std::abs(GeGluOf(gate, up)) * (of_argument + kExpError + Gamma(3)) * 1.01 +
         std::abs(gate * up) * std::exp(-88.0) * 1.001;
}

// The form that the kernel computes is that of transformers' NewGELU.
TEST(GeGluOf, IsTheTanhApproximation) {
  for (const double x : {-3.0, -0.5, 0.0, 1e-3, 0.7, 4.0}) {
    const double u = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * std::pow(x, 3));
    EXPECT_NEAR(GeGluOf(x, 1), 0.5 * x * (1 + std::tanh(u)), 1e-15);
  }
}

TEST_P(RowKernels, GeGlu) {
  for (std::int64_t n = 1; n <= kLongest; ++n) {
    for (const float size : {1.0F, 5.0F, 120.0F}) {
      const std::vector<float> gate = RandomFloats(random_, n, size);
      const std::vector<float> up = RandomFloats(random_, n);
      std::vector<float> out(gate.size());
      kernels_.gelu_tanh.gated(gate.data(), up.data(), n, out.data());
      for (std::size_t i = 0; i < gate.size(); ++i) {
        ASSERT_NEAR(out[i], GeGluOf(gate[i], up[i]), GeGluTolerance(gate[i], up[i]))
            << "gate " << gate[i] << ", up " << up[i];
      }
      std::vector<float> in_place = gate;
      kernels_.gelu_tanh.gated(in_place.data(), up.data(), n, in_place.data());
      ASSERT_TRUE(SameBits(in_place, out)) << "n " << n;
    }
  }
}

TEST_P(RowKernels, GeGluOfLargeNumbers) {
  const std::vector<float> gate = {0,  -0.0F, 9,   10,  11,   1e4F,  1e13F,  1e30F,
                                   -9, -10,   -11, -12, -104, -1e4F, -1e13F, -1e30F};
  const std::vector<float> up(gate.size(), 0.75F);
  std::vector<float> out(gate.size());
  kernels_.gelu_tanh.gated(gate.data(), up.data(), static_cast<std::int64_t>(gate.size()),
                           out.data());
  for (std::size_t i = 0; i < gate.size(); ++i) {
    EXPECT_NEAR(out[i], GeGluOf(gate[i], up[i]), GeGluTolerance(gate[i], up[i])) << gate[i];
  }
}

TEST_P(RowKernels, GeGluOfNonFiniteNumbers) {
  const std::vector<float> gate = {kNan, kInfinity, -kInfinity, 1, 1, 1, -1000};
  const std::vector<float> up = {1, 1, 1, kNan, kInfinity, -kInfinity, kNan};
  std::vector<float> out(gate.size());
  kernels_.gelu_tanh.gated(gate.data(), up.data(), static_cast<std::int64_t>(gate.size()),
                           out.data());
  for (std::size_t i = 0; i < gate.size(); ++i) {
    EXPECT_FALSE(std::isfinite(out[i])) << "gate " << gate[i] << ", up " << up[i];
  }
}

TEST_P(RowKernels, SoftCap) {
  for (std::int64_t n = 0; n <= kLongest; ++n) {
    for (const float cap : {1.0F, 30.0F, 50.0F, 0.3F}) {
      for (const float size : {0.01F, 1.0F, 20.0F, 1e4F}) {
        const std::vector<float> x = RandomFloats(random_, n, size);
        std::vector<float> out = x;
        kernels_.soft_cap(cap, n, out.data());
        for (std::size_t i = 0; i < x.size(); ++i) {
          const double quotient = static_cast<double>(x[i]) / cap;
          const double expected = cap * std::tanh(quotient);
          // The roundings of the quotient, of tanh, and of the product. An error of the argument is
          // no larger in tanh, relative to the value.
          ASSERT_NEAR(out[i], expected, std::abs(expected) * (kTanhError + Gamma(2)))
              << x[i] << ", cap " << cap;
          float alone = x[i];
          kernels_.soft_cap(cap, 1, &alone);
          ASSERT_TRUE(SameBits({&alone, 1}, {&out[i], 1})) << "place " << i << " of " << n;
        }
      }
    }
  }
}

TEST_P(RowKernels, SoftCapOfLargeAndNonFiniteNumbers) {
  std::vector<float> x = {3e38F, -3e38F, 0, -0.0F, kNan, kInfinity, -kInfinity};
  kernels_.soft_cap(0.5F, static_cast<std::int64_t>(x.size()), x.data());
  EXPECT_FALSE(std::isfinite(x[0])) << "the quotient overflows";
  x = {3e38F, -3e38F, 0, -0.0F, kNan, kInfinity, -kInfinity};
  kernels_.soft_cap(30, static_cast<std::int64_t>(x.size()), x.data());
  EXPECT_EQ(x[0], 30);
  EXPECT_EQ(x[1], -30);
  EXPECT_EQ(x[2], 0);
  EXPECT_EQ(x[3], 0);
  for (std::size_t i = 4; i < x.size(); ++i) {
    EXPECT_FALSE(std::isfinite(x[i])) << i;
  }
}

void ExpectMaxAndSumExp(const Kernels& kernels, const std::vector<float>& x) {
  const double top = *std::max_element(x.begin(), x.end());
  double expected = 0;
  double tolerance = 0;
  // Runs of 1024 are summed in float32; their sums are added up in float64.
  const double sum_error =
      Gamma(LaneSumDepth(std::min<std::int64_t>(static_cast<std::int64_t>(x.size()), 1024)));
  for (const float v : x) {
    const double below = top - v;
    const double term = std::exp(-below);
    expected += term;
    // The rounding of x - top is an error of the argument.
    tolerance += term * (below * kUnitRoundoff + kExpError + sum_error) + testing::kExpFloor;
  }
  float maximum = 0;
  double sum_exp = 0;
  kernels.max_and_sum_exp(x.data(), static_cast<std::int64_t>(x.size()), &maximum, &sum_exp);
  EXPECT_EQ(maximum, top) << "n " << x.size();
  EXPECT_NEAR(sum_exp, expected, tolerance) << "n " << x.size();
}

TEST_P(RowKernels, MaxAndSumExp) {
  for (std::int64_t n = 1; n <= kLongest; ++n) {
    for (const float size : {1.0F, 30.0F, 1000.0F}) {
      ExpectMaxAndSumExp(kernels_, RandomFloats(random_, n, size));
    }
  }
  for (const std::int64_t n : {1023, 1024, 1025, 151'936}) {
    ExpectMaxAndSumExp(kernels_, RandomFloats(random_, n, 15));
  }
}

TEST_P(RowKernels, MaxAndSumExpAtTheEdges) {
  ExpectMaxAndSumExp(kernels_, {-3.5F});
  ExpectMaxAndSumExp(kernels_, std::vector<float>(150'000, 2.5F));
  ExpectMaxAndSumExp(kernels_, std::vector<float>(37, -1e35F));
  ExpectMaxAndSumExp(kernels_, {-1e35F, -1e34F, -3e38F});
  ExpectMaxAndSumExp(kernels_, {3e38F, -3e38F, 0});
  ExpectMaxAndSumExp(kernels_, std::vector<float>(40, std::numeric_limits<float>::lowest()));
}

TEST_P(RowKernels, MaxAndSumExpOfNothing) {
  float maximum = 0;
  double sum_exp = 1;
  kernels_.max_and_sum_exp(nullptr, 0, &maximum, &sum_exp);
  EXPECT_EQ(maximum, kNoScore);
  EXPECT_EQ(sum_exp, 0);
}

TEST_P(RowKernels, MaxAndSumExpOfNonFiniteNumbers) {
  for (const float bad : {kNan, kInfinity, -kInfinity}) {
    for (const std::int64_t n : {1, 5, 16, 50, 2000}) {
      for (const std::int64_t at : {std::int64_t{0}, n / 2, n - 1}) {
        std::vector<float> x = RandomFloats(random_, n);
        x[static_cast<std::size_t>(at)] = bad;
        float maximum = 0;
        double sum_exp = 0;
        kernels_.max_and_sum_exp(x.data(), n, &maximum, &sum_exp);
        EXPECT_FALSE(std::isfinite(sum_exp)) << bad << " at " << at << " of " << n;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, RowKernels, ::testing::ValuesIn(UsableKernelSets()), KernelSetName);

}  // namespace row_kernels_test
}  // namespace scorecast::shard

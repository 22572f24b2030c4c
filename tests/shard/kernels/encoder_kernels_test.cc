// LayerNorm, and the activations that have a form without a gate, compared with float64 loops.

#include <algorithm>
#include <array>
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
namespace encoder_kernels_test {

using testing::Gamma;
using testing::kExpError;
using testing::kUnitRoundoff;
using testing::LaneSumDepth;
using testing::RandomFloats;
using testing::SameBits;

constexpr std::int64_t kLongest = 200;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class EncoderKernels : public KernelsTest {
 protected:
  std::mt19937 random_{1};
};

TEST_P(EncoderKernels, LayerNorm) {
  for (std::int64_t n = 1; n <= kLongest; ++n) {
    // The size of the numbers, their mean, and eps: BERT's is 1e-12.
    for (const auto& [size, mean, eps] :
         {std::array{1.0F, 0.0F, 1e-12F}, {1.0F, 30.0F, 1e-5F}, {1e-4F, 0.0F, 1e-5F}}) {
      std::vector<float> x = RandomFloats(random_, n, size);
      const std::vector<float> weight = RandomFloats(random_, n, 3);
      const std::vector<float> bias = RandomFloats(random_, n);
      double sum = 0;
      double sizes = 0;
      for (float& v : x) {
        v += mean;
        sum += v;
        sizes += std::abs(v);
      }
      const double of_all = sum / static_cast<double>(n);
      double squares = 0;
      for (const float v : x) {
        squares += (v - of_all) * (v - of_all);
      }
      const double variance = squares / static_cast<double>(n) + static_cast<double>(eps);
      const double deviation = std::sqrt(variance);
      // The sum and the quotient.
      const double of_mean = sizes / static_cast<double>(n) * Gamma(LaneSumDepth(n) + 1);
      // A difference and a square, the sum, the quotient, + eps, the root, its inverse, a
      // difference, two products. A wrong mean adds its square to the variance.
      const double relative = Gamma(2 + LaneSumDepth(n) + 8) + of_mean * of_mean / variance;
      for (const float* added : {static_cast<const float*>(nullptr), bias.data()}) {
        std::vector<float> out(x.size());
        kernels_.layer_norm(x.data(), weight.data(), added, n, eps, out.data());
        for (std::size_t i = 0; i < x.size(); ++i) {
          const double scaled = (x[i] - of_all) / deviation * weight[i];
          const double expected = scaled + (added == nullptr ? 0.0 : bias[i]);
          const double tolerance = std::abs(scaled) * relative +
                                   1.01 * std::abs(weight[i]) / deviation * of_mean +
                                   std::abs(expected) * kUnitRoundoff;
          ASSERT_NEAR(out[i], expected, tolerance) << "n " << n << ", i " << i;
        }
        std::vector<float> in_place = x;
        kernels_.layer_norm(in_place.data(), weight.data(), added, n, eps, in_place.data());
        ASSERT_TRUE(SameBits(in_place, out)) << "n " << n;
      }
    }
  }
}

TEST_P(EncoderKernels, LayerNormOfNonFiniteNumbers) {
  for (const float bad : {kNan, kInfinity, -kInfinity}) {
    for (const std::int64_t n : {1, 16, 19}) {
      std::vector<float> x = RandomFloats(random_, n);
      x.back() = bad;
      const std::vector<float> weight(x.size(), 1.0F);
      std::vector<float> out(x.size());
      kernels_.layer_norm(x.data(), weight.data(), nullptr, n, 1e-5F, out.data());
      EXPECT_TRUE(std::ranges::none_of(out, [](float v) { return std::isfinite(v); })) << bad;
    }
  }
}

double GeluOf(double x) { return 0.5 * x * std::erfc(-x / std::numbers::sqrt2); }

/// The tail |x| Φ(-|x|) has the error of exp and of its argument, that of the polynomial and of
/// about 16 roundings; the kernel's exp stops at exp(-87). Then the difference is rounded.
double GeluTolerance(double x) {
  const double tail = std::abs(GeluOf(-std::abs(x)));
  return tail * (x * x / 2 * Gamma(2) + kExpError + Gamma(16) + 2.4e-8) +
         std::abs(GeluOf(x)) * kUnitRoundoff + std::abs(x) * std::exp(-87.0);
}

TEST_P(EncoderKernels, GeluIsThatOfTheErrorFunction) {
  for (double x = -14; x < 14; x += 0.00137) {
    std::vector<float> in(19);
    for (std::size_t i = 0; i < in.size(); ++i) {
      in[i] = static_cast<float>(x + 1e-4 * static_cast<double>(i));
    }
    std::vector<float> out(in.size());
    kernels_.gelu.plain(in.data(), std::ssize(in), out.data());
    for (std::size_t i = 0; i < in.size(); ++i) {
      ASSERT_NEAR(out[i], GeluOf(in[i]), GeluTolerance(in[i])) << in[i];
    }
  }
  const std::vector<float> large = {0, -0.0F, 20, -20, 1e4F, -1e4F, 1e30F, -1e30F};
  std::vector<float> out(large.size());
  kernels_.gelu.plain(large.data(), std::ssize(large), out.data());
  for (std::size_t i = 0; i < large.size(); ++i) {
    EXPECT_NEAR(out[i], std::max(large[i], 0.0F), 1e-30) << large[i];
  }
}

TEST_P(EncoderKernels, PlainAndGatedFormsAgree) {
  for (const ActivationKernels* activation :
       {&kernels_.silu, &kernels_.gelu, &kernels_.gelu_tanh, &kernels_.relu}) {
    for (std::int64_t n = 1; n <= 70; ++n) {
      const std::vector<float> x = RandomFloats(random_, n, 4);
      const std::vector<float> up = RandomFloats(random_, n);
      std::vector<float> plain(x.size());
      activation->plain(x.data(), n, plain.data());
      std::vector<float> in_place = x;
      activation->plain(in_place.data(), n, in_place.data());
      ASSERT_TRUE(SameBits(in_place, plain));
      std::vector<float> gated(x.size());
      activation->gated(x.data(), up.data(), n, gated.data());
      for (std::size_t i = 0; i < x.size(); ++i) {
        ASSERT_EQ(gated[i], plain[i] * up[i]);
      }
      in_place = up;
      activation->gated(x.data(), in_place.data(), n, in_place.data());
      ASSERT_TRUE(SameBits(in_place, gated));
    }
  }
  const std::vector<float> x = {-2, -0.0F, 0, 3.5F};
  std::vector<float> out(x.size());
  kernels_.relu.plain(x.data(), std::ssize(x), out.data());
  EXPECT_EQ(out, (std::vector<float>{0, 0, 0, 3.5F}));
}

TEST_P(EncoderKernels, ActivationsOfNonFiniteNumbers) {
  const std::vector<float> bad = {kNan, kInfinity, -kInfinity};
  for (const ActivationKernels* activation :
       {&kernels_.silu, &kernels_.gelu, &kernels_.gelu_tanh, &kernels_.relu}) {
    std::vector<float> out(bad.size());
    activation->plain(bad.data(), std::ssize(bad), out.data());
    EXPECT_TRUE(std::ranges::none_of(out, [](float v) { return std::isfinite(v); }));
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, EncoderKernels, ::testing::ValuesIn(UsableKernelSets()),
                         KernelSetName);

}  // namespace encoder_kernels_test
}  // namespace scorecast::shard

// The kernels that convert rows to other precisions, compared with plain code. Inputs are copied to
// arrays of exactly their size, so that AddressSanitizer sees every access past an end.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "shard/kernels/kernels.h"
#include "tests/shard/bf16.h"
#include "tests/shard/kernels/kernel_sets.h"
#include "tests/shard/random_floats.h"
#include "tests/shard/rounding.h"

namespace scorecast::shard {
namespace rounding_kernels_test {

using testing::Gamma;
using testing::RandomFloats;
using testing::RandomInt;
using testing::SameBits;

constexpr std::int64_t kLongest = 200;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kLargest = std::numeric_limits<float>::max();

class RoundingKernels : public KernelsTest {
 protected:
  std::mt19937 random_{1};
};

void ExpectToBf16(const Kernels& kernels, const std::vector<float>& x) {
  std::vector<std::uint16_t> out(x.size());
  kernels.to_bf16(x.data(), static_cast<std::int64_t>(x.size()), out.data());
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(x[i])) {
      ASSERT_TRUE(std::isnan(testing::FromBf16(out[i]))) << "i " << i;
      ASSERT_EQ(std::signbit(testing::FromBf16(out[i])), std::signbit(x[i])) << "i " << i;
    } else if (std::fpclassify(x[i]) == FP_SUBNORMAL && testing::FromBf16(out[i]) == 0) {
      ASSERT_EQ(std::signbit(testing::FromBf16(out[i])), std::signbit(x[i])) << "i " << i;
    } else {
      ASSERT_EQ(out[i], testing::ToBf16(x[i])) << x[i] << " at " << i << " of " << x.size();
    }
  }
}

// Random bit patterns, then every upper half with the lower halves at which the rounding changes.
TEST_P(RoundingKernels, ToBf16IsTheNearest) {
  for (std::int64_t n = 1; n <= kLongest; ++n) {
    std::vector<float> x;
    for (std::int64_t i = 0; i < n; ++i) {
      x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random_())));
    }
    ExpectToBf16(kernels_, x);
  }
  for (const std::uint32_t lower : {0x0000U, 0x0001U, 0x7FFFU, 0x8000U, 0x8001U, 0xFFFFU}) {
    std::vector<float> x;
    for (std::uint32_t upper = 0; upper <= 0xFFFFU; ++upper) {
      x.push_back(std::bit_cast<float>(upper << 16U | lower));
    }
    ExpectToBf16(kernels_, x);
  }
}

TEST_P(RoundingKernels, ToBf16AtTheEdges) {
  ExpectToBf16(kernels_,
               {0.0F, -0.0F, kInfinity, -kInfinity, kLargest, -kLargest, kNan, -kNan,
                std::bit_cast<float>(0x7F800001U), std::bit_cast<float>(0xFFFFFFFFU),
                std::numeric_limits<float>::min(), std::numeric_limits<float>::denorm_min(),
                // The last float32 that rounds to a finite bfloat16, and the first that does not.
                std::bit_cast<float>(0x7F7F7FFFU), std::bit_cast<float>(0x7F7F8000U)});
}

TEST_P(RoundingKernels, AddBf16IsExact) {
  for (std::int64_t n = 1; n <= kLongest; ++n) {
    std::vector<std::uint16_t> x;
    for (const float number : RandomFloats(random_, n)) {
      x.push_back(testing::ToBf16(number));
    }
    x.back() = testing::ToBf16(n % 3 == 0 ? kNan : kInfinity);
    const std::vector<float> y = RandomFloats(random_, n, 100);
    std::vector<float> sum = y;
    kernels_.add_bf16(x.data(), n, sum.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const float expected = testing::FromBf16(x[i]) + y[i];
      ASSERT_TRUE(sum[i] == expected || (std::isnan(sum[i]) && std::isnan(expected)))
          << "n " << n << ", i " << i;
    }
  }
}

/// The block that `rotate` promises for rows of n.
std::int64_t BlockOf(std::int64_t n) {
  std::int64_t block = 1;
  while (block < 1024 && n % (2 * block) == 0) {
    block *= 2;
  }
  return block;
}

/// Bound on the relative error of a rotated vector's norm. A stage is one addition for each number.
/// Its matrix is orthogonal up to a factor, so it does not increase the relative size of earlier
/// errors. The factor adds a root, its inverse and a product.
double RotationError(std::int64_t n) {
  return Gamma(std::countr_zero(static_cast<std::uint64_t>(BlockOf(n))) + 3);
}

double Product(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += static_cast<double>(a[i]) * b[i];
  }
  return sum;
}

std::vector<std::int64_t> RotatedLengths() {
  std::vector<std::int64_t> lengths = {256, 384, 512, 576, 1000, 1024, 1536, 2048, 3072, 4864};
  for (std::int64_t n = 1; n <= kLongest; ++n) {
    lengths.push_back(n);
  }
  return lengths;
}

TEST_P(RoundingKernels, RotateKeepsProducts) {
  for (const std::int64_t n : RotatedLengths()) {
    for (const float size : {1.0F, 1e-6F, 1e6F}) {
      std::vector<float> a = RandomFloats(random_, n, size);
      std::vector<float> b = RandomFloats(random_, n);
      a[static_cast<std::size_t>(RandomInt(random_, 0, n - 1))] *= 100;
      const double squares = Product(a, a);
      const double product = Product(a, b);
      const double sizes = std::sqrt(squares * Product(b, b));
      kernels_.rotate(a.data(), n);
      kernels_.rotate(b.data(), n);
      // The errors of both factors, and a hundredth for their product.
      const double error = 2.01 * RotationError(n);
      ASSERT_NEAR(Product(a, a), squares, squares * error) << "n " << n;
      ASSERT_NEAR(Product(a, b), product, sizes * error) << "n " << n;
    }
  }
}

// A single nonzero element is spread over its whole block, and no further.
TEST_P(RoundingKernels, RotateSpreadsAnOutlier) {
  for (const std::int64_t n : RotatedLengths()) {
    const std::int64_t block = BlockOf(n);
    const std::int64_t at = RandomInt(random_, 0, n - 1);
    std::vector<float> x(static_cast<std::size_t>(n), 0.0F);
    x[static_cast<std::size_t>(at)] = 3;
    kernels_.rotate(x.data(), n);
    const double spread = 3 / std::sqrt(static_cast<double>(block));
    for (std::int64_t i = 0; i < n; ++i) {
      const double expected = i / block == at / block ? spread : 0;
      ASSERT_NEAR(std::abs(x[static_cast<std::size_t>(i)]), expected, expected * RotationError(n))
          << "n " << n << ", from " << at << " to " << i;
    }
  }
}

TEST_P(RoundingKernels, QuantizeIsTheNearest) {
  for (std::int64_t n = 1; n <= kLongest; ++n) {
    for (const float size : {1.0F, 1e-30F, 1e30F}) {
      const std::vector<float> x = RandomFloats(random_, n, size);
      double most = 0;
      for (const float v : x) {
        most = std::max(most, std::abs(static_cast<double>(v)));
      }
      std::vector<std::uint8_t> out(x.size());
      const float scale = kernels_.quantize(x.data(), n, out.data());
      ASSERT_NEAR(scale, most / 127, most / 127 * Gamma(2)) << "n " << n;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double exact = 127 * (x[i] / most);
        const int found = int{out[i]} - 128;
        // The nearest integer to x times a factor, which is itself rounded.
        ASSERT_NEAR(found, exact, 0.5 + std::abs(exact) * Gamma(2)) << "n " << n << ", i " << i;
        ASSERT_LE(std::abs(found), 127) << "n " << n << ", i " << i;
      }
    }
  }
}

// Exact halves: a scale of 1 makes every product exact.
TEST_P(RoundingKernels, QuantizeRoundsTiesToEven) {
  std::vector<float> x = {127};
  for (int half = -253; half <= 253; ++half) {
    x.push_back(static_cast<float>(half) / 2);
  }
  std::vector<std::uint8_t> out(x.size());
  EXPECT_EQ(kernels_.quantize(x.data(), static_cast<std::int64_t>(x.size()), out.data()), 1);
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(out[i], 128 + std::nearbyint(x[i])) << x[i];
  }
}

TEST_P(RoundingKernels, QuantizeAtTheEdges) {
  for (const std::int64_t n : {1, 15, 16, 17, 40}) {
    std::vector<float> x(static_cast<std::size_t>(n), 0.0F);
    std::vector<std::uint8_t> out(x.size());
    EXPECT_EQ(kernels_.quantize(x.data(), n, out.data()), 0);
    EXPECT_EQ(std::count(out.begin(), out.end(), 128), n) << "all are zero";
    for (const float bad : {kNan, kInfinity, -kInfinity}) {
      x = RandomFloats(random_, n);
      x.back() = bad;
      EXPECT_TRUE(std::isnan(kernels_.quantize(x.data(), n, out.data()))) << bad << ", n " << n;
    }
    x.assign(x.size(), -kLargest);
    const float scale = kernels_.quantize(x.data(), n, out.data());
    EXPECT_NEAR(scale, double{kLargest} / 127, double{kLargest} / 127 * Gamma(2));
    EXPECT_EQ(std::count(out.begin(), out.end(), 1), n) << "-127 each";
  }
}

// Numbers so small that 127 / max |x| overflows float32. The error is at most the number itself.
TEST_P(RoundingKernels, QuantizeOfTinyNumbers) {
  for (const float size : {3e-37F, 1e-37F, 1e-38F, 1e-40F, 1e-44F}) {
    for (const std::int64_t n : {1, 16, 37}) {
      const std::vector<float> x(static_cast<std::size_t>(n), size);
      std::vector<std::uint8_t> out(x.size());
      const float scale = kernels_.quantize(x.data(), n, out.data());
      ASSERT_TRUE(std::isfinite(scale));
      for (const std::uint8_t byte : out) {
        ASSERT_GE(byte, 1) << size << ": -128 is no value of a weight";
        ASSERT_NEAR((int{byte} - 128) * double{scale}, size, size) << size;
      }
    }
  }
}

TEST_P(RoundingKernels, Dequantize) {
  for (std::int64_t n = 1; n <= kLongest; ++n) {
    std::vector<std::int32_t> sums;
    std::vector<std::int32_t> offsets;
    for (std::int64_t i = 0; i < n; ++i) {
      sums.push_back(RandomInt(random_, -300'000'000, 300'000'000));
      offsets.push_back(RandomInt(random_, -100'000'000, 100'000'000));
    }
    const std::vector<float> scales = RandomFloats(random_, n, 0.01F);
    const float row_scale = 0.037F;
    std::vector<float> out(sums.size());
    kernels_.dequantize(sums.data(), offsets.data(), scales.data(), row_scale, n, out.data());
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const double expected = (double(sums[i]) - offsets[i]) * (double{row_scale} * scales[i]);
      // The conversion of the difference to float32, and two products.
      ASSERT_NEAR(out[i], expected, std::abs(expected) * Gamma(3)) << "n " << n << ", i " << i;
    }
    std::vector<float> in_place(sums.size());
    std::copy_n(reinterpret_cast<const float*>(sums.data()), n, in_place.data());
    kernels_.dequantize(reinterpret_cast<const std::int32_t*>(in_place.data()), offsets.data(),
                        scales.data(), row_scale, n, in_place.data());
    ASSERT_TRUE(SameBits(in_place, out)) << "n " << n;
  }
}

// Quantizing and dequantizing changes a number by at most half a step. A scale of NaN makes the
// whole row NaN.
TEST_P(RoundingKernels, QuantizedComesBack) {
  for (const std::int64_t n : {1, 16, 33, 200}) {
    std::vector<float> x = RandomFloats(random_, n);
    std::vector<std::uint8_t> bytes(x.size());
    const float scale = kernels_.quantize(x.data(), n, bytes.data());
    std::vector<std::int32_t> sums(bytes.begin(), bytes.end());
    const std::vector<std::int32_t> offsets(x.size(), 128);
    const std::vector<float> ones(x.size(), 1.0F);
    std::vector<float> back(x.size());
    kernels_.dequantize(sums.data(), offsets.data(), ones.data(), scale, n, back.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_NEAR(back[i], x[i], scale * (0.5 + 127 * Gamma(5))) << "n " << n << ", i " << i;
    }
    kernels_.dequantize(sums.data(), offsets.data(), ones.data(), kNan, n, back.data());
    EXPECT_TRUE(std::ranges::all_of(back, [](float v) { return std::isnan(v); }));
  }
}

INSTANTIATE_TEST_SUITE_P(All, RoundingKernels, ::testing::ValuesIn(UsableKernelSets()),
                         KernelSetName);

}  // namespace rounding_kernels_test
}  // namespace scorecast::shard

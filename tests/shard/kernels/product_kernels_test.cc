// Products with packed weights: each output is one chain of multiply-adds in ascending order,
// whatever the number of rows and columns and the type of the weights in memory. Nothing is read or
// written outside of the arrays.

#include "shard/kernels/product_kernels.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proto/base/check.h"
#include "tests/shard/kernels/kernel_sets.h"
#include "tests/shard/random_floats.h"
#include "tests/shard/rounding.h"

namespace scorecast::shard {
namespace product_kernels_test {

using testing::Gamma;
using testing::RandomFloats;
using testing::RandomInt;
using testing::SameBits;

/// Bytes that end at the end of a page. The page behind them cannot be accessed.
class GuardedBytes {
 public:
  explicit GuardedBytes(std::int64_t bytes)
      : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))),
        mapped_((static_cast<std::size_t>(bytes) + page_ - 1) / page_ * page_ + page_) {
    void* pages =
        mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    proto::Check(pages != MAP_FAILED, "memory for a test");
    pages_ = static_cast<std::byte*>(pages);
    proto::Check(mprotect(pages_ + mapped_ - page_, page_, PROT_NONE) == 0, "a guard page");
    begin_ = pages_ + mapped_ - page_ - bytes;
  }
  ~GuardedBytes() { munmap(pages_, mapped_); }
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;

  template <typename T>
  T* As() const {
    return reinterpret_cast<T*>(begin_);
  }

 private:
  std::size_t page_;
  std::size_t mapped_;
  std::byte* pages_ = nullptr;
  std::byte* begin_ = nullptr;
};

enum class Type : std::uint8_t { kF32, kBf16, kF16 };

constexpr Type kTypes[] = {Type::kF32, Type::kBf16, Type::kF16};

MultiplyPanels KernelOf(const Kernels& kernels, Type type) {
  return type == Type::kF32    ? kernels.products.f32
         : type == Type::kBf16 ? kernels.products.bf16
                               : kernels.products.f16;
}

std::int64_t PanelBytes(Type type, std::int64_t in) {
  return kPanelOutputs * (type == Type::kF32    ? 4 * in
                          : type == Type::kBf16 ? (in + 1) / 2 * 4
                                                : 2 * in);
}

std::uint16_t Bf16Bits(float x) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16U);
}

double FromF16(std::uint16_t half) {
  const int exponent = half >> 10U & 0x1F;
  const int fraction = half & 0x3FF;
  const double size = exponent == 31  ? (fraction == 0 ? std::numeric_limits<double>::infinity()
                                                       : std::numeric_limits<double>::quiet_NaN())
                      : exponent == 0 ? std::ldexp(fraction, -24)
                                      : std::ldexp(fraction + 1024, exponent - 25);
  return (half & 0x8000U) != 0 ? -size : size;
}

/// The float16 of a number k / 64 with |k| < 2048.
std::uint16_t F16Bits(float x) {
  if (x == 0) {
    return 0;
  }
  int exponent = 0;
  const float fraction = std::frexp(std::abs(x), &exponent);  // In [0.5, 1).
  const auto bits = static_cast<std::uint32_t>((exponent + 14) << 10) +
                    static_cast<std::uint32_t>(fraction * 2048) - 1024;
  return static_cast<std::uint16_t>(bits | (x < 0 ? 0x8000U : 0U));
}

/// Weights that every type represents: k / 64 with |k| < 128.
std::vector<float> NarrowWeights(std::mt19937& random, std::int64_t n) {
  std::vector<float> weights;
  for (std::int64_t i = 0; i < n; ++i) {
    weights.push_back(static_cast<float>(RandomInt(random, -127, 127)) / 64);
  }
  return weights;
}

/// Packs weights [out, in]; the padding is NaN.
void Pack(Type type, const std::vector<float>& weights, std::int64_t in, std::byte* panels) {
  const std::int64_t out = static_cast<std::int64_t>(weights.size()) / in;
  const std::int64_t panel_bytes = PanelBytes(type, in);
  std::memset(panels, 0xFF, static_cast<std::size_t>((out + 15) / 16 * panel_bytes));
  for (std::int64_t o = 0; o < out; ++o) {
    std::byte* panel = panels + o / kPanelOutputs * panel_bytes;
    for (std::int64_t i = 0; i < in; ++i) {
      const float weight = weights[static_cast<std::size_t>(o * in + i)];
      const std::int64_t single = i * kPanelOutputs + o % kPanelOutputs;
      const std::int64_t paired = (i / 2 * kPanelOutputs + o % kPanelOutputs) * 2 + i % 2;
      switch (type) {
        case Type::kF32:
          reinterpret_cast<float*>(panel)[single] = weight;
          break;
        case Type::kBf16:
          reinterpret_cast<std::uint16_t*>(panel)[paired] = Bf16Bits(weight);
          break;
        case Type::kF16:
          reinterpret_cast<std::uint16_t*>(panel)[single] = F16Bits(weight);
          break;
      }
    }
  }
}

class ProductKernelsTest : public KernelsTest {
 protected:
  /// y = x · Wᵀ [rows][columns] with packed weights, all of whose arrays are guarded.
  std::vector<float> Multiply(Type type, const std::byte* panels, std::int64_t in,
                              const std::vector<float>& x, std::int64_t rows, bool x_is_bf16,
                              std::int64_t columns) const {
    const GuardedBytes guarded_x(rows * in * (x_is_bf16 ? 2 : 4));
    for (std::int64_t i = 0; i < rows * in; ++i) {
      const float number = x[static_cast<std::size_t>(i)];
      if (x_is_bf16) {
        guarded_x.As<std::uint16_t>()[i] = Bf16Bits(number);
      } else {
        guarded_x.As<float>()[i] = number;
      }
    }
    constexpr std::int64_t kCanaries = 64;
    constexpr float kCanary = 12345;
    const GuardedBytes guarded_y((kCanaries + rows * columns) * 4);
    auto* y = guarded_y.As<float>();
    std::fill_n(y, kCanaries + rows * columns, kCanary);
    const GuardedBytes scratch(kProductScratch * 4);
    std::memset(scratch.As<std::byte>(), 0xFF, static_cast<std::size_t>(kProductScratch) * 4);
    KernelOf(kernels_, type)({.panels = panels,
                              .panel_bytes = PanelBytes(type, in),
                              .in = in,
                              .rows = rows,
                              .x = guarded_x.As<std::byte>(),
                              .x_is_bf16 = x_is_bf16,
                              .columns = columns,
                              .y = y + kCanaries,
                              .scratch = scratch.As<float>()});
    for (std::int64_t i = 0; i < kCanaries; ++i) {
      EXPECT_EQ(y[i], kCanary) << "written " << kCanaries - i << " before the outputs";
    }
    return {y + kCanaries, y + kCanaries + rows * columns};
  }

  /// Whether a multiply-add of this set rounds once: a · a - round(a · a) is then not 0.
  bool Fuses() const {
    const float a = 1 + 0x1p-12F;
    const std::vector<float> weights = {-(a * a), a};
    std::vector<float> panel(2 * kPanelOutputs);
    Pack(Type::kF32, weights, 2, reinterpret_cast<std::byte*>(panel.data()));
    return Multiply(Type::kF32, reinterpret_cast<const std::byte*>(panel.data()), 2, {1, a}, 1,
                    false, 1)[0] != 0;
  }

  std::mt19937 random_{7};
};

// The last panel of most widths is padded. 1037 inputs are several blocks and an odd rest.
TEST_P(ProductKernelsTest, EachOutputIsOneChainAtEveryHeight) {
  const bool fuses = Fuses();
  // The rows of a product repeat these rows again and again.
  constexpr std::int64_t kDistinctRows = 13;
  for (const std::int64_t in : {1, 2, 7, 258, 1037}) {
    // 23 panels make tiles of every number of panels.
    constexpr std::int64_t kOut = 23 * kPanelOutputs - 3;
    const std::vector<float> weights = NarrowWeights(random_, kOut * in);
    std::vector<float> x = RandomFloats(random_, kDistinctRows * in);
    for (float& number : x) {
      number = std::bit_cast<float>(std::uint32_t{Bf16Bits(number)} << 16U);
    }
    std::vector<float> chains;  // [kDistinctRows][kOut]
    for (std::int64_t row = 0; row < kDistinctRows; ++row) {
      for (std::int64_t o = 0; o < kOut; ++o) {
        float chain = 0;
        double exact = 0;
        double sizes = 0;
        for (std::int64_t i = 0; i < in; ++i) {
          const float a = x[static_cast<std::size_t>(row * in + i)];
          const float b = weights[static_cast<std::size_t>(o * in + i)];
          chain = fuses ? std::fma(a, b, chain) : chain + a * b;
          exact += double{a} * b;
          sizes += std::abs(double{a} * b);
        }
        ASSERT_NEAR(chain, exact, sizes * Gamma(in + 1));
        chains.push_back(chain);
      }
    }
    for (const Type type : kTypes) {
      const GuardedBytes panels((kOut + 15) / 16 * PanelBytes(type, in));
      Pack(type, weights, in, panels.As<std::byte>());
      for (std::int64_t rows = 1; rows <= kMostProductRows; ++rows) {
        // Combinations that are tested: every height with one type of rows and some widths. For the
        // longest chains, and for the generic set, which is slow, only some heights.
        if ((in > 1000 || !fuses) && rows > 14 && rows % 25 != 3) {
          continue;
        }
        const bool x_is_bf16 = rows % 2 == 0;
        const std::int64_t widths[] = {1, 8, 64, 100, 271, kOut};
        const std::int64_t columns = rows < 14 ? kOut : widths[rows % 6];
        SCOPED_TRACE(std::to_string(static_cast<int>(type)) + ": " + std::to_string(rows) + " x " +
                     std::to_string(in) + " x " + std::to_string(columns));
        const std::int64_t first_row = RandomInt(random_, 0, kDistinctRows - 1);
        std::vector<float> some;
        for (std::int64_t row = 0; row < rows; ++row) {
          const auto* from = &x[static_cast<std::size_t>((first_row + row) % kDistinctRows * in)];
          some.insert(some.end(), from, from + in);
        }
        // Columns from any panel on.
        const std::int64_t first_panel = RandomInt(random_, 0, (kOut - columns) / kPanelOutputs);
        const std::vector<float> y =
            Multiply(type, panels.As<std::byte>() + first_panel * PanelBytes(type, in), in, some,
                     rows, x_is_bf16, columns);
        for (std::int64_t row = 0; row < rows; ++row) {
          const auto* chain = &chains[static_cast<std::size_t>(
              (first_row + row) % kDistinctRows * kOut + first_panel * kPanelOutputs)];
          const auto width = static_cast<std::size_t>(columns);
          ASSERT_TRUE(
              SameBits({chain, width}, {&y[static_cast<std::size_t>(row * columns)], width}))
              << "row " << row;
        }
      }
    }
  }
}

// 1 · w + 0 is w. Weights are widened in one place for many rows, and in another for few.
TEST_P(ProductKernelsTest, EveryNumberOf16BitsIsWidenedExactly) {
  constexpr std::int64_t kNumbers = 1 << 16;
  for (const Type type : {Type::kBf16, Type::kF16}) {
    const std::int64_t step = type == Type::kBf16 ? 2 : 1;
    const GuardedBytes panels(kNumbers * 2 * step);
    std::memset(panels.As<std::byte>(), 0, static_cast<std::size_t>(kNumbers * 2 * step));
    for (std::int64_t i = 0; i < kNumbers; ++i) {
      panels.As<std::uint16_t>()[i * step] = static_cast<std::uint16_t>(i);
    }
    for (const std::int64_t rows : {1, 60}) {
      const std::vector<float> ones(static_cast<std::size_t>(rows), 1.0F);
      const std::vector<float> y =
          Multiply(type, panels.As<std::byte>(), 1, ones, rows, false, kNumbers);
      for (std::int64_t i = 0; i < kNumbers; ++i) {
        const auto bits = static_cast<std::uint16_t>(i);
        const double expected = type == Type::kF16
                                    ? FromF16(bits)
                                    : std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
        const float found = y[static_cast<std::size_t>((rows - 1) * kNumbers + i)];
        if (std::isnan(expected)) {
          ASSERT_TRUE(std::isnan(found)) << i;
        } else {
          ASSERT_EQ(found, expected) << i;
        }
      }
    }
  }
}

TEST_P(ProductKernelsTest, WhatIsNotFiniteStaysInItsRowAndColumn) {
  constexpr std::int64_t kIn = 300;
  constexpr std::int64_t kOut = 40;
  for (const Type type : kTypes) {
    for (const std::int64_t rows : {3, 40}) {
      std::vector<float> weights = NarrowWeights(random_, kOut * kIn);
      std::vector<float> x = RandomFloats(random_, rows * kIn);
      x[1 * kIn + 299] = std::numeric_limits<float>::infinity();
      const GuardedBytes panels((kOut + 15) / 16 * PanelBytes(type, kIn));
      Pack(type, weights, kIn, panels.As<std::byte>());
      // A number with all bits set is NaN in each type.
      auto* number =
          panels.As<std::byte>() + (type == Type::kBf16
                                        ? (17 / 2 * kPanelOutputs + 5) * 4 + 17 % 2 * 2
                                        : (17 * kPanelOutputs + 5) * (type == Type::kF32 ? 4 : 2));
      std::memset(number, 0xFF, type == Type::kF32 ? 4 : 2);
      const std::vector<float> y =
          Multiply(type, panels.As<std::byte>(), kIn, x, rows, false, kOut);
      for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int64_t o = 0; o < kOut; ++o) {
          EXPECT_EQ(std::isfinite(y[static_cast<std::size_t>(row * kOut + o)]), row != 1 && o != 5)
              << row << ", " << o;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ProductKernelsTest, ::testing::ValuesIn(UsableKernelSets()),
                         KernelSetName);

}  // namespace product_kernels_test
}  // namespace scorecast::shard

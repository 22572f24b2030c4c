// Our own products: the type in which a weight is kept changes no bit, nor do the number of rows,
// their place and the columns that one call computes.

#include "shard/linear/packed_backend.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "shard/kernels/kernels.h"
#include "shard/runtime/thread_pool.h"
#include "tests/shard/bf16.h"
#include "tests/shard/kernels/kernel_sets.h"
#include "tests/shard/linear/dense_rows.h"
#include "tests/shard/random_floats.h"
#include "tests/shard/rounding.h"

namespace scorecast::shard {
namespace packed_backend_test {

using testing::Gamma;
using testing::RandomFloats;
using testing::RandomInt;
using testing::SameBits;

constexpr int kThreads = 2;

class PackedBackendTest : public KernelsTest {
 protected:
  /// Chunks of a weight W [Σ widths, in].
  WeightSource Source(std::vector<std::int64_t> widths, std::int64_t in, Dtype stored,
                      const std::vector<float>& weights) const {
    WeightSource source;
    source.widths = widths;
    source.in = in;
    source.stored = stored;
    source.read = [widths = std::move(widths), in, &weights](std::int64_t chunk, float* rows) {
      const std::int64_t first =
          std::accumulate(widths.begin(), widths.begin() + chunk, std::int64_t{0});
      std::copy_n(weights.begin() + first * in, widths[static_cast<std::size_t>(chunk)] * in, rows);
    };
    return source;
  }

  std::vector<float> Multiply(const PackedWeight& weight, const Activations& x,
                              std::int64_t first_row, std::int64_t rows, std::int64_t chunk,
                              proto::Range columns) const {
    std::vector<float> y(static_cast<std::size_t>(RoundUpRows(rows) * columns.size()));
    weight.Multiply(x, first_row, rows, chunk, columns, y.data(), kThreads - 1);
    y.resize(static_cast<std::size_t>(rows * columns.size()));
    return y;
  }

  std::mt19937 random_{11};
  ThreadPool pool_{kThreads};
  PackedBackend backend_{kernels_, kThreads};
};

/// Numbers that bfloat16 and float16 both have: k / 2⁹ with |k| < 2⁷.
std::vector<float> NarrowNumbers(std::mt19937& random, std::int64_t n) {
  std::vector<float> numbers;
  for (std::int64_t i = 0; i < n; ++i) {
    numbers.push_back(static_cast<float>(RandomInt(random, -127, 127)) / 512);
  }
  return numbers;
}

TEST_P(PackedBackendTest, AnyTypeInMemoryAndAnyPartGiveTheSameBits) {
  const std::vector<std::int64_t> widths = {271, 1, 8, 64};
  const bool is_generic = GetParam().needs == CpuFeatures();
  const int rounds = is_generic ? 4 : 30;  // The generic kernels are slow.
  for (const std::int64_t in : {1, 5, 259, 1024}) {
    const std::vector<float> weights = NarrowNumbers(random_, 344 * in);
    for (const Precision precision : {Precision::kFloat32, Precision::kBfloat16}) {
      SCOPED_TRACE(std::string(Name(precision)) + " from " + std::to_string(in));
      const testing::DenseRows x(precision, RoundUpRows(kMostTileRows), in);
      std::vector<std::vector<float>> rounded;
      for (std::int64_t row = 0; row < kMostTileRows; ++row) {
        const std::vector<float> floats = RandomFloats(random_, in);
        x.Set(kernels_, row, floats);
        rounded.push_back(precision == Precision::kBfloat16 ? testing::RoundToBf16(floats)
                                                            : floats);
      }
      std::vector<std::unique_ptr<PackedWeight>> packed;
      for (const Dtype stored : {Dtype::kF32, Dtype::kBF16, Dtype::kF16}) {
        packed.push_back(backend_.Pack(precision, Source(widths, in, stored, weights), pool_));
      }
      const std::int64_t granule = packed.front()->column_granule();
      std::int64_t first_output = 0;
      for (std::int64_t chunk = 0; chunk < 4; ++chunk) {
        const std::int64_t width = widths[static_cast<std::size_t>(chunk)];
        const std::vector<float> whole =
            Multiply(*packed.front(), x.activations(), 0, kMostTileRows, chunk, {0, width});
        for (std::int64_t row = 0; row < kMostTileRows; row += 17) {
          for (std::int64_t o = 0; o < width; ++o) {
            double exact = 0;
            double sizes = 0;
            for (std::int64_t i = 0; i < in; ++i) {
              const double term =
                  double{rounded[static_cast<std::size_t>(row)][static_cast<std::size_t>(i)]} *
                  weights[static_cast<std::size_t>((first_output + o) * in + i)];
              exact += term;
              sizes += std::abs(term);
            }
            ASSERT_NEAR(whole[static_cast<std::size_t>(row * width + o)], exact,
                        sizes * Gamma(in + 1));
          }
        }
        for (int round = 0; round < rounds; ++round) {
          const std::int64_t rows = round < 12 ? round + 1 : RandomInt(random_, 1, kMostTileRows);
          const std::int64_t first_row = RandomInt(random_, 0, kMostTileRows - rows);
          const std::int64_t begin = RandomInt(random_, 0, (width - 1) / granule) * granule;
          const std::int64_t end = std::min(
              width, RandomInt(random_, begin / granule + 1, width / granule + 1) * granule);
          for (const std::unique_ptr<PackedWeight>& weight : packed) {
            const std::vector<float> part =
                Multiply(*weight, x.activations(), first_row, rows, chunk, {begin, end});
            const auto size = static_cast<std::size_t>(end - begin);
            for (std::int64_t row = 0; row < rows; ++row) {
              const auto at = static_cast<std::size_t>((first_row + row) * width + begin);
              ASSERT_TRUE(
                  SameBits(std::span(whole).subspan(at, size),
                           std::span(part).subspan(static_cast<std::size_t>(row) * size, size)))
                  << "row " << row << " of " << rows << ", columns " << begin << " to " << end;
            }
          }
        }
        first_output += width;
      }
    }
  }
}

// Subnormal float16 and the largest, and NaN.
TEST_P(PackedBackendTest, Float16KeepsItsExtremes) {
  const std::vector<float> weights = {0x1p-24F, -0x3p-24F, 0x1p-14F,  65504.0F, -65504.0F,
                                      0.0F,     INFINITY,  -INFINITY, NAN,      0x1.ff8p-15F};
  const auto weight =
      backend_.Pack(Precision::kFloat32, Source({10}, 1, Dtype::kF16, weights), pool_);
  const testing::DenseRows x(Precision::kFloat32, kRowGranule, 1);
  x.Set(kernels_, 0, {1.0F});
  const std::vector<float> y = Multiply(*weight, x.activations(), 0, 1, 0, {0, 10});
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (std::isnan(weights[i])) {
      EXPECT_TRUE(std::isnan(y[i]));
    } else {
      EXPECT_EQ(y[i], weights[i]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, PackedBackendTest, ::testing::ValuesIn(UsableKernelSets()),
                         KernelSetName);

}  // namespace packed_backend_test
}  // namespace scorecast::shard

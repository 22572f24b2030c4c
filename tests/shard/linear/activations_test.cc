#include "shard/linear/activations.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "shard/linear/gemm_backend.h"
#include "tests/shard/bf16.h"
#include "tests/shard/linear/dense_rows.h"
#include "tests/shard/linear/print_precision.h"
#include "tests/shard/random_floats.h"
#include "tests/shard/rounding.h"

namespace scorecast::shard {
namespace activations_test {

using testing::DenseRows;
using testing::RandomFloats;
using testing::SameBits;

constexpr std::int64_t kRows = 5;

const Kernels& BestKernels() { return KernelsFor(DetectCpuFeatures()); }

class ActivationsTest : public ::testing::TestWithParam<Precision> {};

TEST_P(ActivationsTest, RowsLieOneAfterAnother) {
  DenseRows rows(GetParam(), kRows, 33);
  EXPECT_EQ(rows.activations().row_bytes(), 33 * ElementSize(GetParam()));
  EXPECT_EQ(rows.activations().Row(3), rows.activations().data + 3 * 33 * ElementSize(GetParam()));
}

// The rounded row depends on the row alone, and nothing beside it is written.
TEST_P(ActivationsTest, SetRoundsOneRow) {
  std::mt19937 random(1);
  for (const std::int64_t width : {1, 16, 48, 100, 256}) {
    const std::vector<float> x = RandomFloats(random, width, 3);
    DenseRows rows(GetParam(), kRows, width);
    const Activations& activations = rows.activations();
    const DenseRows untouched(GetParam(), kRows, width);
    std::vector<float> scratch = x;
    activations.Set(BestKernels(), 2, scratch.data());
    for (const std::int64_t row : {0, 1, 3, 4}) {
      EXPECT_TRUE(rows.SameRow(row, untouched, row)) << "row " << row;
    }
    scratch = x;
    activations.Set(BestKernels(), 4, scratch.data());
    EXPECT_TRUE(rows.SameRow(2, rows, 4));

    switch (GetParam()) {
      case Precision::kFloat32:
        EXPECT_EQ(std::memcmp(activations.Row(2), x.data(), x.size() * sizeof(float)), 0);
        break;
      case Precision::kBfloat16:
        for (std::int64_t i = 0; i < width; ++i) {
          EXPECT_EQ(reinterpret_cast<const std::uint16_t*>(activations.Row(2))[i],
                    testing::ToBf16(x[static_cast<std::size_t>(i)]));
        }
        break;
      case Precision::kInt8: {
        scratch = x;
        BestKernels().rotate(scratch.data(), width);
        std::vector<std::uint8_t> bytes(x.size());
        EXPECT_EQ(BestKernels().quantize(scratch.data(), width, bytes.data()),
                  activations.scales[2]);
        EXPECT_EQ(std::memcmp(activations.Row(2), bytes.data(), bytes.size()), 0);
        break;
      }
    }
  }
}

TEST_P(ActivationsTest, CopyRowTakesAllOfARow) {
  std::mt19937 random(2);
  DenseRows from(GetParam(), kRows, 48);
  for (std::int64_t row = 0; row < kRows; ++row) {
    from.Set(BestKernels(), row, RandomFloats(random, 48, static_cast<float>(row + 1)));
  }
  DenseRows to(GetParam(), kRows, 48);
  const DenseRows untouched(GetParam(), kRows, 48);
  to.activations().CopyRow(1, from.activations(), 3);
  EXPECT_TRUE(to.SameRow(1, from, 3));
  for (const std::int64_t row : {0, 2, 3, 4}) {
    EXPECT_TRUE(to.SameRow(row, untouched, row)) << "row " << row;
  }
}

INSTANTIATE_TEST_SUITE_P(All, ActivationsTest,
                         ::testing::Values(Precision::kFloat32, Precision::kBfloat16,
                                           Precision::kInt8),
                         [](const auto& param) { return std::string(Name(param.param)); });

TEST(QuantizeChunk, IsTheRotatedRowsRounded) {
  std::mt19937 random(3);
  constexpr std::int64_t kWidth = 9;
  constexpr std::int64_t kIn = 96;
  std::vector<float> rows = RandomFloats(random, kWidth * kIn);
  std::fill_n(rows.begin() + 4 * kIn, kIn, 0.0F);
  std::vector<float> rotated = rows;
  const Int8Chunk chunk = QuantizeChunk(BestKernels(), rows.data(), kWidth, kIn);
  ASSERT_EQ(chunk.values.size(), rows.size());
  ASSERT_EQ(chunk.scales.size(), std::size_t{kWidth});
  ASSERT_EQ(chunk.offsets.size(), std::size_t{kWidth});
  for (std::int64_t o = 0; o < kWidth; ++o) {
    BestKernels().rotate(rotated.data() + o * kIn, kIn);
    const double scale = chunk.scales[static_cast<std::size_t>(o)];
    std::int32_t sum = 0;
    for (std::int64_t i = o * kIn; i < (o + 1) * kIn; ++i) {
      const int value = chunk.values[static_cast<std::size_t>(i)];
      sum += value;
      EXPECT_LE(std::abs(value), 127);
      // Half a step, and the rounding errors of the scale and of the division by it.
      EXPECT_NEAR(value * scale, rotated[static_cast<std::size_t>(i)],
                  scale * (0.5 + 127 * testing::Gamma(3)))
          << "output " << o;
    }
    EXPECT_EQ(chunk.offsets[static_cast<std::size_t>(o)], 128 * sum);
  }
  EXPECT_EQ(chunk.scales[4], 0) << "a row of zeros";
}

}  // namespace activations_test
}  // namespace scorecast::shard

// Int8 products are exact: they equal a plain computation in 64 bits, in every kernel set.

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "shard/kernels/kernels.h"
#include "tests/shard/kernels/kernel_sets.h"
#include "tests/shard/random_floats.h"

namespace scorecast::shard {
namespace int8_product_kernels_test {

using testing::RandomInt;

std::size_t Size(std::int64_t n) { return static_cast<std::size_t>(n); }

struct Shape {
  std::int64_t rows;
  std::int64_t width;
  std::int64_t in;
};

/// Arrays of exactly the documented sizes, so that a sanitizer sees accesses beyond them.
class Int8ProductTest : public KernelsTest {
 protected:
  void SetRandom(const Shape& shape) {
    Resize(shape);
    for (std::uint8_t& byte : x_) {
      byte = static_cast<std::uint8_t>(RandomInt(random_, 0, 255));
    }
    for (std::int8_t& value : w_) {
      value = static_cast<std::int8_t>(RandomInt(random_, -127, 127));
    }
  }

  void SetAll(const Shape& shape, std::uint8_t byte, std::int8_t value) {
    Resize(shape);
    std::ranges::fill(x_, byte);
    std::ranges::fill(w_, value);
  }

  /// Checks every output of `rows` rows from `first_row` on.
  void Check(std::int64_t first_row, std::int64_t rows, std::int64_t begin, std::int64_t columns) {
    SCOPED_TRACE("rows " + std::to_string(first_row) + " + " + std::to_string(rows) + ", columns " +
                 std::to_string(begin) + " + " + std::to_string(columns) + " of " +
                 std::to_string(shape_.width) + ", in " + std::to_string(shape_.in));
    std::vector<float> y(Size(rows * columns));
    kernels_.int8_products.multiply({.x = x_.data() + first_row * shape_.in,
                                     .row_scales = row_scales_.data() + first_row,
                                     .rows = rows,
                                     .in = shape_.in,
                                     .packed = packed_.data(),
                                     .scales = scales_.data(),
                                     .offsets = offsets_.data(),
                                     .width = shape_.width,
                                     .begin = begin,
                                     .columns = columns,
                                     .y = y.data(),
                                     .scratch = scratch_});
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t column = 0; column < columns; ++column) {
        const std::int64_t output = begin + column;
        const std::int64_t exact = sums_[Size((first_row + row) * shape_.width + output)];
        const auto difference = static_cast<float>(exact - offsets_[Size(output)]);
        const float expected =
            difference * (scales_[Size(output)] * row_scales_[Size(first_row + row)]);
        ASSERT_EQ(y[Size(row * columns + column)], expected) << "row " << row << ", " << column;
      }
    }
  }

  /// Packs the weight and computes what Check expects.
  void Pack() {
    const Int8ProductKernels& kernels = kernels_.int8_products;
    const auto round_up = [](std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; };
    const std::int64_t outputs = round_up(shape_.width, kernels.panel);
    packed_.assign(Size(outputs * round_up(shape_.in, kernels.step)), 99);
    kernels.pack(w_.data(), shape_.width, shape_.in, packed_.data());
    sums_.clear();
    for (std::int64_t row = 0; row < shape_.rows; ++row) {
      for (std::int64_t output = 0; output < shape_.width; ++output) {
        std::int64_t sum = 0;
        for (std::int64_t i = 0; i < shape_.in; ++i) {
          sum += std::int64_t{x_[Size(row * shape_.in + i)]} * w_[Size(output * shape_.in + i)];
        }
        sums_.push_back(sum);
      }
    }
    scales_.assign(Size(outputs), 0.0F);
    offsets_.assign(Size(outputs), 0);
    row_scales_.clear();
    for (std::int64_t output = 0; output < shape_.width; ++output) {
      scales_[Size(output)] = RandomScale();
      for (std::int64_t i = 0; i < shape_.in; ++i) {
        offsets_[Size(output)] += 128 * w_[Size(output * shape_.in + i)];
      }
    }
    for (std::int64_t row = 0; row < shape_.rows; ++row) {
      row_scales_.push_back(RandomScale());
    }
  }

  std::mt19937 random_{5};

 private:
  float RandomScale() { return 1.0F / static_cast<float>(RandomInt(random_, 1, 1000)); }

  void Resize(const Shape& shape) {
    shape_ = shape;
    x_.resize(Size(shape.rows * shape.in));
    w_.resize(Size(shape.width * shape.in));
  }

  Shape shape_ = {};
  std::vector<std::uint8_t> x_;
  std::vector<std::int8_t> w_;
  std::vector<std::int8_t> packed_;
  std::vector<float> row_scales_;
  std::vector<float> scales_;
  std::vector<std::int32_t> offsets_;
  std::vector<std::int64_t> sums_;
  alignas(64) std::byte scratch_[kInt8Scratch];
};

TEST_P(Int8ProductTest, EqualsAPlainComputation) {
  for (const std::int64_t in : {1, 2, 3, 7, 64, 255, 257, 513, 1030}) {
    for (const std::int64_t width : {1, 15, 33, 64, 100}) {
      SetRandom({.rows = 128, .width = width, .in = in});
      Pack();
      Check(0, 128, 0, width);
      for (const std::int64_t rows : {1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 16, 24, 25, 61}) {
        Check(RandomInt(random_, 0, 128 - rows), rows, 0, width);
      }
    }
  }
}

TEST_P(Int8ProductTest, ComputesAnyColumnsOfAChunk) {
  const std::int64_t panel = kernels_.int8_products.panel;
  constexpr std::int64_t kWidth = 271;
  SetRandom({.rows = 128, .width = kWidth, .in = 1030});
  Pack();
  for (const std::int64_t rows : {1, 6, 16, 128}) {
    for (std::int64_t begin = 0; begin < kWidth; begin += 3 * panel) {
      Check(0, rows, begin, std::min(panel, kWidth - begin));
      Check(0, rows, begin, std::min(5 * panel, kWidth - begin));
      Check(0, rows, begin, kWidth - begin);
    }
  }
}

TEST_P(Int8ProductTest, SumsOfTheLargestNumbersFit) {
  constexpr std::int64_t kRows = 14;
  constexpr std::int64_t kWidth = 17;
  for (const std::int8_t value : {std::int8_t{-127}, std::int8_t{127}}) {
    SetAll({.rows = kRows, .width = kWidth, .in = kDeepestInt8}, 255, value);
    Pack();
    Check(0, kRows, 0, kWidth);
    Check(0, 1, 0, kWidth);
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Int8ProductTest, ::testing::ValuesIn(UsableKernelSets()),
                         KernelSetName);

}  // namespace int8_product_kernels_test
}  // namespace scorecast::shard

#include "shard/checkpoint/tensor_view.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <deque>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/shard/checkpoint/file_of_bytes.h"
#include "tests/shard/checkpoint/model_files.h"

namespace scorecast::shard {
namespace tensor_view_test {

using proto::Range;
using ::testing::Each;
using ::testing::ElementsAre;

/// A tensor in a file that stays until the program ends.
template <typename T>
TensorView View(Dtype dtype, std::vector<std::int64_t> shape, const std::vector<T>& items) {
  static std::deque<FileOfBytes> files;
  const WeightFile& file = files.emplace_back(std::as_bytes(std::span(items))).file();
  return {dtype, std::move(shape), &file, 0, file.size()};
}

/// The value of an IEEE 754 binary16 number by definition.
double Half(std::uint16_t bits) {
  const double sign = bits >> 15 != 0 ? -1 : 1;
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  if (exponent == 31) {
    return fraction != 0 ? std::nan("") : sign * std::numeric_limits<double>::infinity();
  }
  return sign *
         (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25));
}

std::vector<std::uint16_t> AllHalves() {
  std::vector<std::uint16_t> halves(65536);
  std::iota(halves.begin(), halves.end(), std::uint16_t{0});
  return halves;
}

TEST(SlicesTest, EveryF16IsExact) {
  const std::vector<std::uint16_t> halves = AllHalves();
  std::vector<float> out(65536);
  ReadRows(View(Dtype::kF16, {65536}, halves), {0, 65536}, out.data());
  for (int i = 0; i < 65536; ++i) {
    const double expected = Half(halves[i]);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(out[i])) << i;
    } else {
      EXPECT_EQ(out[i], expected) << i;
    }
    EXPECT_EQ(std::signbit(out[i]), i >= 32768) << i;
  }
}

TEST(SlicesTest, EveryBf16IsTheUpperHalfOfItsFloat) {
  const std::vector<std::uint16_t> halves = AllHalves();
  std::vector<float> out(65536);
  ReadRows(View(Dtype::kBF16, {65536}, halves), {0, 65536}, out.data());
  for (std::uint32_t i = 0; i < 65536; ++i) {
    EXPECT_EQ(std::bit_cast<std::uint32_t>(out[i]), i << 16);
  }
}

TEST(SlicesTest, F32KeepsItsBits) {
  const std::vector<std::uint32_t> bits = {0x00000000, 0x80000000, 0x00000001, 0x7f800001,
                                           0xff800000, 0x3f800000, 0x7fc00123};
  std::vector<float> out(bits.size());
  ReadRows(View(Dtype::kF32, {7}, bits), {0, 7}, out.data());
  EXPECT_EQ(std::memcmp(out.data(), bits.data(), 28), 0);
}

/// A matrix [rows, 5] with the values 8 * row + column, stored at an odd offset.
class OddMatrix {
 public:
  OddMatrix(Dtype dtype, std::int64_t rows) {
    bytes_.resize(static_cast<std::size_t>(1 + rows * 5 * ItemSize(dtype)));
    std::byte* at = bytes_.data() + 1;
    for (std::int64_t i = 0; i < rows * 5; ++i, at += ItemSize(dtype)) {
      const auto value = static_cast<float>(i / 5 * 8 + i % 5);
      if (dtype == Dtype::kF32) {
        std::memcpy(at, &value, 4);
      } else if (dtype == Dtype::kBF16) {
        const auto half = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
        std::memcpy(at, &half, 2);
      } else {
        std::uint16_t half = 0;
        while (Half(half) != value) {
          ++half;
        }
        std::memcpy(at, &half, 2);
      }
    }
    file_.emplace(bytes_);
    view_ = {dtype, {rows, 5}, &file_->file(), 1, file_->file().size() - 1};
  }
  const TensorView& view() const { return view_; }
  /// The same matrix in memory, without a file.
  TensorView InMemory() const {
    TensorView view = view_;
    view.file = nullptr;
    view.memory = bytes_.data() + 1;
    return view;
  }

 private:
  std::vector<std::byte> bytes_;
  std::optional<FileOfBytes> file_;
  TensorView view_;
};

class SlicesOfDtypeTest : public ::testing::TestWithParam<Dtype> {};

TEST_P(SlicesOfDtypeTest, RowsOfAnyAlignmentAndCount) {
  const OddMatrix matrix(GetParam(), 30);
  for (std::int64_t begin = 0; begin <= 30; ++begin) {
    for (std::int64_t end = begin; end <= 30; ++end) {
      // The two floats past the end must not be written.
      std::vector<float> out(static_cast<std::size_t>((end - begin) * 5 + 2), -1);
      ReadRows(matrix.view(), {begin, end}, out.data());
      for (std::int64_t i = 0; i < (end - begin) * 5; ++i) {
        ASSERT_EQ(out[i], (begin + i / 5) * 8 + i % 5);
      }
      EXPECT_EQ(out[(end - begin) * 5], -1);
      EXPECT_EQ(out[(end - begin) * 5 + 1], -1);
    }
  }
}

TEST_P(SlicesOfDtypeTest, BlocksWithAStride) {
  const OddMatrix matrix(GetParam(), 30);
  for (const TensorView& view : {matrix.view(), matrix.InMemory()}) {
    std::vector<float> out(12, -1);
    ReadBlock(view, {28, 30}, {1, 4}, out.data(), 6);
    EXPECT_THAT(out, ElementsAre(225, 226, 227, -1, -1, -1, 233, 234, 235, -1, -1, -1));
  }
  std::vector<float> none(4, -1);
  ReadBlock(matrix.view(), {0, 30}, {5, 5}, none.data(), 0);
  ReadBlock(matrix.view(), {30, 30}, {0, 5}, none.data(), 5);
  EXPECT_THAT(none, Each(-1));
}

INSTANTIATE_TEST_SUITE_P(Dtypes, SlicesOfDtypeTest,
                         ::testing::Values(Dtype::kF32, Dtype::kF16, Dtype::kBF16),
                         ::testing::PrintToStringParamName());

TEST(SlicesTest, RowsOfATensorOfMoreDimensions) {
  const std::vector<float> items = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  std::vector<float> out(8);
  ReadRows(View(Dtype::kF32, {3, 2, 2}, items), {1, 3}, out.data());
  EXPECT_THAT(out, ElementsAre(4, 5, 6, 7, 8, 9, 10, 11));
}

TEST(SlicesTest, RowsWithoutColumnsAreNothingToRead) {
  const TensorView none = View(Dtype::kF32, {std::int64_t{1} << 50, 0}, std::vector<float>{});
  ReadRows(none, {0, std::int64_t{1} << 50}, nullptr);
  ReadBlock(none, {0, std::int64_t{1} << 50}, {0, 0}, nullptr, 0);
}

TEST(SlicesTest, NoRowsOfATensorWithoutAny) {
  ReadRows(View(Dtype::kF32, {0, 4}, std::vector<float>{}), {0, 0}, nullptr);
  ReadRows(View(Dtype::kBF16, {0}, std::vector<std::uint16_t>{}), {0, 0}, nullptr);
}

TEST(SlicesDeathTest, PartsOutsideTheTensorAreABrokenInvariant) {
  const std::vector<float> items(6);
  const TensorView matrix = View(Dtype::kF32, {2, 3}, items);
  std::vector<float> out(16);
  EXPECT_DEATH(ReadRows(matrix, {1, 3}, out.data()), "broken invariant");
  EXPECT_DEATH(ReadRows(matrix, {-1, 1}, out.data()), "broken invariant");
  EXPECT_DEATH(ReadBlock(matrix, {0, 2}, {1, 4}, out.data(), 4), "broken invariant");
  EXPECT_DEATH(ReadBlock(matrix, {0, 2}, {0, 3}, out.data(), 2), "broken invariant");
}

}  // namespace tensor_view_test
}  // namespace scorecast::shard

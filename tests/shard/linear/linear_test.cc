// Linear layers on OpenBLAS: right, and every row's bits its own. OPENBLAS_CORETYPE (Haswell,
// SkylakeX, …) chooses which of its kernels are tested; they differ in what they promise.

#include "shard/linear/linear.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "shard/kernels/kernels.h"
#include "shard/linear/openblas_backend.h"
#include "shard/runtime/thread_pool.h"
#include "tests/shard/random_floats.h"
#include "tests/shard/rounding.h"

namespace scorecast::shard {
namespace {

using testing::Gamma;
using testing::RandomFloats;
using testing::RandomInt;
using testing::SameBits;

using Matrix = std::vector<std::vector<float>>;

/// A layer of random weights and its way of being called with any rows.
class TestedLayer {
 public:
  TestedLayer(std::mt19937& random, std::int64_t out, std::int64_t in)
      : weights_(RandomFloats(random, out * in)), linear_(Make(out, in)) {}

  const Linear& linear() const { return linear_; }
  const float* weight_row(std::int64_t o) const {
    return weights_.data() + o * linear_.in_features();
  }

  /// y = x · Wᵀ, in buffers whose rows lie further apart than they are long, and whose rows past
  /// the last are garbage for y and, as Linear wants it, zero for x.
  Matrix Forward(std::span<const std::vector<float>* const> x, ThreadPool& pool) const {
    const auto rows = static_cast<std::int64_t>(x.size());
    const std::int64_t in_stride = linear_.in_features() + 3;
    const std::int64_t out_stride = linear_.out_features() + 5;
    std::vector<float> input(static_cast<std::size_t>(RoundUpRows(rows) * in_stride), 0.0F);
    std::vector<float> output(static_cast<std::size_t>(RoundUpRows(rows) * out_stride), kGuard);
    for (std::int64_t row = 0; row < rows; ++row) {
      std::ranges::copy(*x[static_cast<std::size_t>(row)], input.begin() + row * in_stride);
    }
    linear_.Forward({input.data(), in_stride}, rows, {output.data(), out_stride}, pool);
    Matrix result;
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto begin = output.begin() + row * out_stride;
      result.emplace_back(begin, begin + linear_.out_features());
      for (auto gap = begin + linear_.out_features(); gap < begin + out_stride; ++gap) {
        EXPECT_EQ(*gap, kGuard) << "between the rows nothing is written";
      }
    }
    return result;
  }

 private:
  static constexpr float kGuard = 12345.0F;

  Linear Make(std::int64_t out, std::int64_t in) {
    AlignedBuffer<float> packed(weights_.size());
    std::ranges::copy(weights_, packed.data());
    return Linear(backend_, std::move(packed), out, in);
  }

  OpenBlasBackend backend_;
  std::vector<float> weights_;  // [out, in]
  Linear linear_;
};

Matrix RandomRows(std::mt19937& random, std::int64_t rows, std::int64_t in) {
  Matrix x;
  for (std::int64_t row = 0; row < rows; ++row) {
    x.push_back(RandomFloats(random, in));
  }
  return x;
}

std::vector<const std::vector<float>*> Pointers(const Matrix& rows) {
  std::vector<const std::vector<float>*> pointers;
  for (const std::vector<float>& row : rows) {
    pointers.push_back(&row);
  }
  return pointers;
}

struct Shape {
  std::int64_t out = 0;
  std::int64_t in = 0;
};

std::vector<Shape> RandomShapes() {
  std::vector<Shape> shapes = {{1, 1},    {1, 1100},  {600, 1},   {16, 16},   {255, 64},
                               {256, 80}, {257, 128}, {512, 300}, {513, 257}, {600, 1100}};
  std::mt19937 random(4);
  for (int i = 0; i < 10; ++i) {
    shapes.push_back({RandomInt(random, 1, 600), RandomInt(random, 1, 1100)});
  }
  return shapes;
}

class LinearShapes : public ::testing::TestWithParam<Shape> {
 protected:
  void SetUp() override {
    const char* core = std::getenv("OPENBLAS_CORETYPE");
    if (core != nullptr && std::string_view(core) == "Haswell" &&
        DetectInstructionSet() < InstructionSet::kAvx2) {
      GTEST_SKIP() << "this CPU has no AVX2";
    }
  }

  std::mt19937 random_{5};
};

TEST_P(LinearShapes, AgreesWithFloat64) {
  const auto [out, in] = GetParam();
  const TestedLayer layer(random_, out, in);
  EXPECT_EQ(layer.linear().out_features(), out);
  EXPECT_EQ(layer.linear().in_features(), in);
  const Matrix x = RandomRows(random_, 37, in);
  ThreadPool pool(2);
  const Matrix y = layer.Forward(Pointers(x), pool);
  for (std::size_t row = 0; row < x.size(); ++row) {
    for (std::int64_t o = 0; o < out; ++o) {
      double expected = 0;
      double sizes = 0;
      for (std::int64_t i = 0; i < in; ++i) {
        const double product =
            static_cast<double>(x[row][static_cast<std::size_t>(i)]) * layer.weight_row(o)[i];
        expected += product;
        sizes += std::abs(product);
      }
      // A product and the additions, in whatever order: each term goes through at most `in` of
      // them, and the whole through a factor and one more.
      ASSERT_NEAR(y[row][static_cast<std::size_t>(o)], expected, sizes * Gamma(in + 2))
          << "row " << row << ", output " << o;
    }
  }
}

// Each row alone says what its bits are.
TEST_P(LinearShapes, RowsAreTheSameBitsInAnyCompany) {
  const auto [out, in] = GetParam();
  const TestedLayer layer(random_, out, in);
  constexpr std::int64_t kMostRows = 300;
  const Matrix x = RandomRows(random_, kMostRows, in);
  ThreadPool pool(1);
  Matrix expected;
  for (const std::vector<float>& row : x) {
    const std::vector<float>* pointer = &row;
    expected.push_back(layer.Forward({&pointer, 1}, pool).front());
  }
  std::vector<std::size_t> order(x.size());
  std::iota(order.begin(), order.end(), 0);
  // Every number of rows where that is cheap, else those around the borders of panels.
  const bool is_small = out * in <= 40'000;
  for (std::int64_t rows = 1; rows <= kMostRows; ++rows) {
    if (!is_small && rows > 18 && rows % 16 > 1 && rows % 37 != 0) {
      continue;
    }
    std::shuffle(order.begin(), order.end(), random_);
    std::vector<const std::vector<float>*> some;
    for (std::int64_t row = 0; row < rows; ++row) {
      some.push_back(&x[order[static_cast<std::size_t>(row)]]);
    }
    const Matrix y = layer.Forward(some, pool);
    for (std::size_t row = 0; row < y.size(); ++row) {
      ASSERT_TRUE(SameBits(y[row], expected[order[row]])) << "row " << row << " of " << rows;
    }
  }
}

TEST_P(LinearShapes, ThreadsChangeNoBits) {
  const auto [out, in] = GetParam();
  const TestedLayer layer(random_, out, in);
  const Matrix x = RandomRows(random_, 290, in);
  ThreadPool alone(1);
  const Matrix expected = layer.Forward(Pointers(x), alone);
  for (const int threads : {2, 3, 4}) {
    ThreadPool pool(threads);
    const Matrix y = layer.Forward(Pointers(x), pool);
    for (std::size_t row = 0; row < y.size(); ++row) {
      ASSERT_TRUE(SameBits(y[row], expected[row])) << "row " << row << ", threads " << threads;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, LinearShapes, ::testing::ValuesIn(RandomShapes()),
                         [](const auto& shape) {
                           return std::to_string(shape.param.out) + "_from_" +
                                  std::to_string(shape.param.in) + "_" +
                                  std::to_string(shape.index);
                         });

// A row of NaN is one row's affair.
TEST(Linear, NanStaysInItsRow) {
  std::mt19937 random(6);
  const TestedLayer layer(random, 300, 70);
  Matrix x = RandomRows(random, 40, 70);
  ThreadPool pool(1);
  const Matrix expected = layer.Forward(Pointers(x), pool);
  x[17].assign(70, NAN);
  const Matrix y = layer.Forward(Pointers(x), pool);
  for (std::size_t row = 0; row < y.size(); ++row) {
    if (row == 17) {
      EXPECT_TRUE(std::ranges::all_of(y[row], [](float f) { return std::isnan(f); }));
    } else {
      EXPECT_TRUE(SameBits(y[row], expected[row])) << "row " << row;
    }
  }
}

TEST(Linear, WithNothingToSumIsZero) {
  OpenBlasBackend backend;
  const Linear linear(backend, AlignedBuffer<float>(0), 7, 0);
  std::vector<float> y(16 * 7, 3.0F);
  ThreadPool pool(2);
  linear.Forward({nullptr, 0}, 5, {y.data(), 7}, pool);
  EXPECT_EQ(std::count(y.begin(), y.begin() + 5 * 7, 0.0F), 5 * 7);
}

TEST(Linear, WithoutOutputsWritesNothing) {
  OpenBlasBackend backend;
  const Linear linear(backend, AlignedBuffer<float>(0), 0, 9);
  EXPECT_EQ(linear.out_features(), 0);
  const std::vector<float> x(16 * 9, 1.0F);
  ThreadPool pool(2);
  linear.Forward({x.data(), 9}, 5, {nullptr, 0}, pool);
}

TEST(Linear, OfNoRows) {
  std::mt19937 random(7);
  const TestedLayer layer(random, 20, 30);
  ThreadPool pool(2);
  EXPECT_TRUE(layer.Forward({}, pool).empty());
}

TEST(OpenBlasBackend, SaysWhatItIs) {
  EXPECT_TRUE(OpenBlasBackend().Description().starts_with("OpenBLAS "));
}

}  // namespace
}  // namespace scorecast::shard

// Linear layers in every precision, by every backend: the results are right, and a row's bits
// depend on that row alone. The libraries have several kernels, with different guarantees.
// OPENBLAS_CORETYPE (Haswell, SkylakeX, …) and ONEDNN_MAX_CPU_ISA choose which of them are tested.

#include "shard/linear/linear.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <ostream>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "shard/kernels/kernels.h"
#include "shard/linear/backends.h"
#include "shard/runtime/thread_pool.h"
#include "tests/shard/bf16.h"
#include "tests/shard/linear/dense_rows.h"
#include "tests/shard/random_floats.h"
#include "tests/shard/rounding.h"

namespace scorecast::shard {
namespace linear_test {

using testing::Gamma;
using testing::RandomFloats;
using testing::RandomInt;
using testing::SameBits;

using Matrix = std::vector<std::vector<float>>;
using Widths = std::vector<std::int64_t>;

constexpr int kMostThreads = 4;

struct Kind {
  Precision precision = Precision::kFloat32;
  const BackendEntry* backend = nullptr;
};

std::ostream& operator<<(std::ostream& out, const Kind& kind) {
  return out << Name(kind.precision) << "_by_" << kind.backend->name;
}

const Kernels& BestKernels() { return KernelsFor(DetectCpuFeatures()); }

std::unique_ptr<GemmBackend> MakeBackend(Kind kind) {
  static const std::unique_ptr<GemmBackend> fallback =
      Backends().back().make(BestKernels(), kMostThreads, nullptr);
  return kind.backend->make(BestKernels(), kMostThreads, fallback.get());
}

/// A layer with given weights that can be called with any rows.
class TestedLayer {
 public:
  TestedLayer(Kind kind, Widths widths, Matrix weights, std::int64_t in)
      : kind_(kind),
        widths_(std::move(widths)),
        weights_(std::move(weights)),
        in_(in),
        backend_(MakeBackend(kind)),
        scratch_(kMostThreads),
        linear_(Make()) {}
  TestedLayer(Kind kind, std::mt19937& random, const Widths& widths, std::int64_t in)
      : TestedLayer(kind, widths,
                    RandomMatrix(random, std::accumulate(widths.begin(), widths.end(), 0LL), in),
                    in) {}

  static Matrix RandomMatrix(std::mt19937& random, std::int64_t rows, std::int64_t columns) {
    Matrix matrix;
    for (std::int64_t row = 0; row < rows; ++row) {
      matrix.push_back(RandomFloats(random, columns));
    }
    return matrix;
  }

  const Linear& linear() const { return linear_; }
  const Matrix& weights() const { return weights_; }

  /// y = x · Wᵀ for some chunks; the outputs of the others stay NaN.
  Matrix Forward(std::span<const std::vector<float>* const> x, proto::Range chunks,
                 ThreadPool& pool) const {
    const auto rows = static_cast<std::int64_t>(x.size());
    // The padding rows are NaN and must have no effect.
    const testing::DenseRows input(kind_.precision, RoundUpRows(rows), in_);
    for (std::int64_t row = 0; row < rows; ++row) {
      input.Set(BestKernels(), row, *x[static_cast<std::size_t>(row)]);
    }
    const auto out = static_cast<std::size_t>(linear_.out_features());
    Matrix result(x.size(), std::vector<float>(out, NAN));
    std::atomic<std::int64_t> written = 0;
    linear_.Forward(input.activations(), rows, chunks, pool, [&](const ProductTile& tile) {
      EXPECT_TRUE(AreInOneChunk(tile.columns));
      for (std::int64_t row = tile.first_row; row < tile.first_row + tile.rows; ++row) {
        std::copy_n(tile.Row(row), tile.columns.size(),
                    result.at(static_cast<std::size_t>(row)).begin() + tile.columns.begin);
      }
      written += tile.rows * tile.columns.size();
      // An epilogue may overwrite its tile.
      std::fill_n(tile.data, tile.rows * tile.columns.size(), NAN);
    });
    EXPECT_EQ(written, rows * std::accumulate(widths_.begin() + chunks.begin,
                                              widths_.begin() + chunks.end, std::int64_t{0}))
        << "each once";
    return result;
  }
  Matrix Forward(std::span<const std::vector<float>* const> x, ThreadPool& pool) const {
    return Forward(x, {0, linear_.chunks()}, pool);
  }

 private:
  bool AreInOneChunk(proto::Range columns) const {
    std::int64_t start = 0;
    for (const std::int64_t width : widths_) {
      if (start <= columns.begin && columns.end <= start + width) {
        return true;
      }
      start += width;
    }
    return false;
  }
  Linear Make() {
    WeightSource source;
    source.widths = widths_;
    source.in = in_;
    source.read = [this](std::int64_t chunk, float* rows) {
      auto row = weights_.begin() +
                 std::accumulate(widths_.begin(), widths_.begin() + chunk, std::int64_t{0});
      for (std::int64_t i = 0; i < widths_[static_cast<std::size_t>(chunk)]; ++i, ++row) {
        rows = std::ranges::copy(*row, rows).out;
      }
    };
    ThreadPool pool(2);
    return Linear(*backend_, kind_.precision, source, pool, scratch_);
  }

  Kind kind_;
  Widths widths_;
  Matrix weights_;  // [out][in]
  std::int64_t in_;
  std::unique_ptr<GemmBackend> backend_;
  TileScratch scratch_;
  Linear linear_;
};

std::vector<const std::vector<float>*> Pointers(const Matrix& rows) {
  std::vector<const std::vector<float>*> pointers;
  for (const std::vector<float>& row : rows) {
    pointers.push_back(&row);
  }
  return pointers;
}

/// Up to four chunks that add up to `out`.
Widths RandomWidths(std::mt19937& random, std::int64_t out) {
  Widths widths;
  std::int64_t left = out;
  while (left > 0) {
    const std::int64_t width = widths.size() == 3 ? left : RandomInt(random, 1, left);
    widths.push_back(std::min<std::int64_t>(width, 256));
    left -= widths.back();
  }
  return widths;
}

/// A row as rounded for a product, and one factor for all its elements.
struct RoundedRow {
  std::vector<double> elements;
  double scale = 1;
};

RoundedRow Rounded(Precision precision, std::vector<float> row) {
  RoundedRow rounded;
  switch (precision) {
    case Precision::kFloat32:
      rounded.elements.assign(row.begin(), row.end());
      break;
    case Precision::kBfloat16:
      row = testing::RoundToBf16(std::move(row));
      rounded.elements.assign(row.begin(), row.end());
      break;
    case Precision::kInt8: {
      const auto n = static_cast<std::int64_t>(row.size());
      std::vector<std::uint8_t> bytes(row.size());
      BestKernels().rotate(row.data(), n);
      rounded.scale = BestKernels().quantize(row.data(), n, bytes.data());
      for (const std::uint8_t byte : bytes) {
        rounded.elements.push_back(int{byte} - 128);
      }
      break;
    }
  }
  return rounded;
}

std::vector<RoundedRow> Rounded(Precision precision, const Matrix& rows) {
  std::vector<RoundedRow> rounded;
  for (const std::vector<float>& row : rows) {
    rounded.push_back(Rounded(precision, row));
  }
  return rounded;
}

/// Tolerance of a product whose terms' absolute values add up to `sizes`.
double Tolerance(Precision precision, std::int64_t in, double result, double sizes) {
  if (precision == Precision::kInt8) {
    return std::abs(result) * Gamma(3);  // A sum of integers is exact; its conversion to float32
                                         // and two scales are not.
  }
  // A product, then additions in any order: each term goes through at most `in` of them, then the
  // sum through a factor and one more.
  return sizes * Gamma(in + 2) + static_cast<double>(in) * testing::kSmallestNormal;
}

class LinearTest : public ::testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    const char* core = std::getenv("OPENBLAS_CORETYPE");
    if (core != nullptr && std::string_view(core) == "Haswell" &&
        !DetectCpuFeatures().Contain({CpuFeature::kAvx2})) {
      GTEST_SKIP() << "this CPU has no AVX2";
    }
    if (!GetParam().backend->supports(GetParam().precision, DetectCpuFeatures())) {
      GTEST_SKIP() << "this CPU, or what ONEDNN_MAX_CPU_ISA leaves of it, has no "
                   << Name(GetParam().precision) << " by " << GetParam().backend->name;
    }
  }

  std::mt19937 random_{5};
};

TEST_P(LinearTest, AgreesWithFloat64) {
  const Kind kind = GetParam();
  ThreadPool pool(2);
  for (const std::int64_t out : {1, 7, 33, 200, 256, 300}) {
    for (const std::int64_t in : {2, 17, 48, 100, 1000}) {
      SCOPED_TRACE(std::to_string(out) + " from " + std::to_string(in));
      const TestedLayer layer(kind, random_, RandomWidths(random_, out), in);
      EXPECT_EQ(layer.linear().out_features(), out);
      const Matrix x = TestedLayer::RandomMatrix(random_, 19, in);
      const Matrix y = layer.Forward(Pointers(x), pool);
      const std::vector<RoundedRow> rounded_x = Rounded(kind.precision, x);
      const std::vector<RoundedRow> weights = Rounded(kind.precision, layer.weights());
      for (std::size_t row = 0; row < x.size(); ++row) {
        for (std::size_t o = 0; o < weights.size(); ++o) {
          double expected = 0;
          double sizes = 0;
          for (std::size_t i = 0; i < weights[o].elements.size(); ++i) {
            const double product = rounded_x[row].elements[i] * weights[o].elements[i];
            expected += product;
            sizes += std::abs(product);
          }
          const double scale = rounded_x[row].scale * weights[o].scale;
          ASSERT_NEAR(y[row][o], expected * scale,
                      Tolerance(kind.precision, in, expected * scale, sizes * scale))
              << "row " << row << ", output " << o;
        }
      }
    }
  }
}

struct Shape {
  Widths widths;
  std::int64_t in = 0;
};

const std::vector<Shape>& Shapes() {
  static const std::vector<Shape> shapes = {{{1}, 100},          {{7}, 17},  {{16, 17}, 48},
                                            {{93, 7, 100}, 100}, {{256}, 2}, {{256, 44}, 1000}};
  return shapes;
}

constexpr std::int64_t kMostRows = 300;

// A row computed alone gives the expected bits.
TEST_P(LinearTest, RowsAreTheSameBitsInAnyCompany) {
  for (const Shape& shape : Shapes()) {
    SCOPED_TRACE(std::to_string(shape.widths.front()) + ", … from " + std::to_string(shape.in));
    const TestedLayer layer(GetParam(), random_, shape.widths, shape.in);
    const Matrix x = TestedLayer::RandomMatrix(random_, kMostRows, shape.in);
    ThreadPool pool(1);
    Matrix expected;
    for (const std::vector<float>& row : x) {
      const std::vector<float>* pointer = &row;
      expected.push_back(layer.Forward({&pointer, 1}, pool).front());
    }
    std::vector<std::size_t> order(x.size());
    std::iota(order.begin(), order.end(), 0);
    for (std::int64_t rows = 1; rows <= kMostRows; ++rows) {
      // Every number of rows up to a granule, then those around the borders of granules and tiles.
      if (rows > 17 && rows % 16 > 1 && rows % 37 != 0 && rows != kMostRows) {
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
}

TEST_P(LinearTest, ThreadsChangeNoBits) {
  for (const Shape& shape : Shapes()) {
    const TestedLayer layer(GetParam(), random_, shape.widths, shape.in);
    const Matrix x = TestedLayer::RandomMatrix(random_, 290, shape.in);
    ThreadPool alone(1);
    const auto pointers = Pointers(x);
    const Matrix expected = layer.Forward(pointers, alone);
    for (int threads = 2; threads <= kMostThreads; ++threads) {
      ThreadPool pool(threads);
      for (const std::size_t rows : {std::size_t{5}, std::size_t{100}, x.size()}) {
        const Matrix y = layer.Forward(std::span(pointers).first(rows), pool);
        for (std::size_t row = 0; row < rows; ++row) {
          ASSERT_TRUE(SameBits(y[row], expected[row])) << "row " << row << ", threads " << threads;
        }
      }
    }
  }
}

TEST_P(LinearTest, SomeChunksAreThoseOfTheWhole) {
  const Widths widths = {5, 64, 31};
  const TestedLayer layer(GetParam(), random_, widths, 70);
  const Matrix x = TestedLayer::RandomMatrix(random_, 40, 70);
  ThreadPool pool(2);
  const Matrix whole = layer.Forward(Pointers(x), pool);
  for (const proto::Range chunks : {proto::Range{0, 0}, {0, 1}, {1, 3}, {2, 3}}) {
    const Matrix some = layer.Forward(Pointers(x), chunks, pool);
    const auto end_of = [&](std::int64_t chunk) {
      return std::accumulate(widths.begin(), widths.begin() + chunk, std::int64_t{0});
    };
    for (std::size_t row = 0; row < x.size(); ++row) {
      for (std::int64_t o = end_of(chunks.begin); o < end_of(chunks.end); ++o) {
        ASSERT_EQ(some[row][static_cast<std::size_t>(o)], whole[row][static_cast<std::size_t>(o)]);
      }
    }
  }
}

// A NaN in one row does not affect the others.
TEST_P(LinearTest, NanStaysInItsRow) {
  const TestedLayer layer(GetParam(), random_, {256, 44}, 70);
  Matrix x = TestedLayer::RandomMatrix(random_, 40, 70);
  ThreadPool pool(1);
  const Matrix expected = layer.Forward(Pointers(x), pool);
  x[17][5] = NAN;
  const Matrix y = layer.Forward(Pointers(x), pool);
  for (std::size_t row = 0; row < y.size(); ++row) {
    if (row == 17) {
      EXPECT_TRUE(std::ranges::all_of(y[row], [](float f) { return std::isnan(f); }));
    } else {
      EXPECT_TRUE(SameBits(y[row], expected[row])) << "row " << row;
    }
  }
}

// A rank may own nothing of a layer.
TEST_P(LinearTest, WithNothingToSumIsZero) {
  const TestedLayer layer(GetParam(), random_, {3, 4}, 0);
  const Matrix x(5);
  ThreadPool pool(2);
  for (const std::vector<float>& row : layer.Forward(Pointers(x), pool)) {
    EXPECT_EQ(row, std::vector<float>(7, 0.0F));
  }
}

TEST_P(LinearTest, WithoutOutputsComputesNothing) {
  const TestedLayer layer(GetParam(), random_, {}, 9);
  EXPECT_EQ(layer.linear().out_features(), 0);
  EXPECT_EQ(layer.linear().chunks(), 0);
  const Matrix x = TestedLayer::RandomMatrix(random_, 5, 9);
  ThreadPool pool(2);
  layer.Forward(Pointers(x), pool);
}

TEST_P(LinearTest, OfNoRows) {
  const TestedLayer layer(GetParam(), random_, {20}, 30);
  ThreadPool pool(2);
  EXPECT_TRUE(layer.Forward({}, pool).empty());
}

class Int8LinearTest : public LinearTest {};

/// The largest absolute value of x rotated by a Hadamard matrix, in float64.
double LargestRotated(const std::vector<float>& x) {
  std::vector<double> rotated(x.begin(), x.end());
  const std::size_t n = x.size();
  const std::size_t block = std::min<std::size_t>(n & (~n + 1), 1024);
  for (std::size_t width = 1; width < block; width *= 2) {
    for (std::size_t i = 0; i < n; ++i) {
      if ((i & width) == 0) {
        const double low = rotated[i];
        rotated[i] = (low + rotated[i + width]) / std::sqrt(2);
        rotated[i + width] = (low - rotated[i + width]) / std::sqrt(2);
      }
    }
  }
  double largest = 0;
  for (const double v : rotated) {
    largest = std::max(largest, std::abs(v));
  }
  return largest;
}

double Largest(const std::vector<float>& x) {
  double largest = 0;
  for (const float v : x) {
    largest = std::max(largest, std::abs(static_cast<double>(v)));
  }
  return largest;
}

double Squares(const std::vector<float>& x) {
  return std::inner_product(x.begin(), x.end(), x.begin(), 0.0);
}

// A few channels are a hundred times as large as the rest, as in real models. A row is rounded in
// steps of (its largest number) / 127, with an average error of a step / √12. Rotated, its largest
// number is small.
TEST_P(Int8LinearTest, OutlierChannelsLeaveItsDigits) {
  for (const std::int64_t in : {1024, 768}) {
    const TestedLayer layer(GetParam(), random_, {256}, in);
    Matrix x = TestedLayer::RandomMatrix(random_, 32, in);
    for (std::vector<float>& row : x) {
      for (const std::size_t channel : {3U, 77U, 500U, 501U}) {
        row[channel] *= 100;
      }
    }
    ThreadPool pool(2);
    const Matrix y = layer.Forward(Pointers(x), pool);
    double squares = 0;    // Squares of the exact outputs.
    double errors = 0;     // Squares of the errors.
    double expected = 0;   // What `errors` should be,
    double unrotated = 0;  // and what it would be if x were rounded unrotated.
    const auto variance = [](double largest) { return std::pow(largest / 127, 2) / 12; };
    std::vector<double> of_weights;
    for (const std::vector<float>& weight : layer.weights()) {
      of_weights.push_back(variance(LargestRotated(weight)));
    }
    for (std::size_t row = 0; row < x.size(); ++row) {
      const double of_row = variance(LargestRotated(x[row]));
      const double of_unrotated = variance(Largest(x[row]));
      for (std::size_t o = 0; o < layer.weights().size(); ++o) {
        const std::vector<float>& weight = layer.weights()[o];
        const double exact = std::inner_product(x[row].begin(), x[row].end(), weight.begin(), 0.0);
        squares += exact * exact;
        errors += std::pow(y[row][o] - exact, 2);
        expected += Squares(x[row]) * of_weights[o] + Squares(weight) * of_row;
        unrotated += Squares(weight) * of_unrotated;
      }
    }
    // The norm of the errors has some hundred degrees of freedom: a quarter more is far outside.
    EXPECT_LT(std::sqrt(errors / squares), 1.25 * std::sqrt(expected / squares)) << in;
    EXPECT_GT(std::sqrt(errors / squares), 0.75 * std::sqrt(expected / squares)) << in;
    EXPECT_GT(std::sqrt(unrotated), 2 * 1.25 * std::sqrt(expected))
        << "else the test shows nothing";
  }
}

TEST_P(LinearTest, NamesItsKernel) {
  EXPECT_FALSE(MakeBackend(GetParam())->Description(GetParam().precision).empty());
}

std::vector<Kind> AllKinds(const std::vector<Precision>& precisions) {
  std::vector<Kind> kinds;
  for (const BackendEntry& backend : Backends()) {
    for (const ProductNeeds& product : backend.products) {
      if (std::ranges::count(precisions, product.precision) > 0) {
        kinds.push_back({product.precision, &backend});
      }
    }
  }
  return kinds;
}

INSTANTIATE_TEST_SUITE_P(All, LinearTest,
                         ::testing::ValuesIn(AllKinds({Precision::kFloat32, Precision::kBfloat16,
                                                       Precision::kInt8})),
                         ::testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(All, Int8LinearTest, ::testing::ValuesIn(AllKinds({Precision::kInt8})),
                         ::testing::PrintToStringParamName());

}  // namespace linear_test
}  // namespace scorecast::shard

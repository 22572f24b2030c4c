// Products whose inputs are cut into blocks.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "shard/linear/arithmetic.h"
#include "shard/linear/linear.h"
#include "shard/runtime/aligned_buffer.h"
#include "tests/shard/linear/dense_rows.h"
#include "tests/shard/linear/print_precision.h"
#include "tests/shard/random_floats.h"

namespace scorecast::shard {
namespace block_linear_test {

using Matrix = std::vector<std::vector<float>>;

constexpr std::int64_t kOut = 300;  // Two chunks.

/// Borders of blocks of inputs, the step after each, and the blocks of which each result is the
/// sum, as a tree.
struct Case {
  std::vector<std::int64_t> borders;
  std::vector<BlockStep> steps;
  /// Computes the results from the numbers of the blocks.
  std::vector<float> (*results)(const std::vector<float>& x);
};

std::vector<Case> Cases() {
  return {
      {{0, 48}, {{}}, [](const auto& x) { return std::vector{x[0]}; }},
      {{0, 32, 48, 96},
       {{0, false}, {1, false}, {1, true}},
       [](const auto& x) { return std::vector{(x[0] + x[1]) + x[2]}; }},
      {{0, 16, 32, 48, 64, 80},
       {{0, true}, {0, false}, {0, false}, {2, true}, {0, true}},
       [](const auto& x) {
         return std::vector{x[0], x[1] + (x[2] + x[3]), x[4]};
       }},
      {{0, 16, 32, 48, 64},
       {{0, false}, {1, false}, {0, false}, {2, true}},
       [](const auto& x) { return std::vector{(x[0] + x[1]) + (x[2] + x[3])}; }},
      // Widths that are no multiple of what a lane adds up.
      {{0, 18, 36},
       {{0, false}, {1, true}},
       [](const auto& x) { return std::vector{x[0] + x[1]}; }},
      // Deeper than what stays in the cache, and unequal blocks.
      {{0, 640, 644, 1028, 1032, 1040},
       {{0, false}, {0, false}, {0, false}, {0, false}, {4, true}},
       [](const auto& x) { return std::vector{x[0] + (x[1] + (x[2] + (x[3] + x[4])))}; }},
  };
}

WeightSource SourceOf(const Matrix& weights, proto::Range inputs) {
  WeightSource source;
  source.widths = Chunks(kOut, kChunkOutputs);
  source.in = inputs.size();
  source.read = [&weights, inputs, widths = source.widths](std::int64_t chunk, float* rows) {
    for (std::int64_t i = 0; i < widths[static_cast<std::size_t>(chunk)]; ++i) {
      const auto row = weights[static_cast<std::size_t>(chunk * kChunkOutputs + i)].begin();
      rows = std::copy(row + inputs.begin, row + inputs.end, rows);
    }
  };
  return source;
}

Matrix RandomMatrix(std::mt19937& random, std::int64_t rows, std::int64_t columns) {
  Matrix matrix;
  for (std::int64_t row = 0; row < rows; ++row) {
    matrix.push_back(testing::RandomFloats(random, columns));
  }
  return matrix;
}

class BlockLinear : public ::testing::TestWithParam<Precision> {};

// Each block's product has the bits that it has alone, and they are added up as the steps say.
TEST_P(BlockLinear, AddsUpTheProductsOfBlocks) {
  const Precision precision = GetParam();
  const Kernels& kernels = KernelsFor(DetectCpuFeatures());
  std::mt19937 random(1);
  ThreadPool pool(2);
  TileScratch scratch(2);
  Arithmetic arithmetic(kernels, ChooseArithmetic(precision, DetectCpuFeatures()), 2);
  GemmBackend& backend = arithmetic.layer_backend();
  for (const Case& each : Cases()) {
    const std::int64_t in = each.borders.back();
    const Matrix weights = RandomMatrix(random, kOut, in);
    std::vector<WeightSource> sources;
    for (std::size_t block = 0; block + 1 < each.borders.size(); ++block) {
      sources.push_back(SourceOf(weights, {each.borders[block], each.borders[block + 1]}));
    }
    const Linear linear(backend, precision, sources, each.steps, kernels, pool, scratch);
    for (const std::int64_t rows : {1, 20, 150}) {
      SCOPED_TRACE(std::to_string(sources.size()) + " blocks, " + std::to_string(rows) + " rows");
      const std::int64_t room = RoundUpRows(rows) + kRowGranule;  // More than the rows.
      AlignedBuffer<std::byte> data(static_cast<std::size_t>(room * in * ElementSize(precision)));
      std::vector<float> scales(sources.size() * static_cast<std::size_t>(room));
      const BlockActivations x = {precision, each.borders, room, data.data(),
                                  precision == Precision::kInt8 ? scales.data() : nullptr};
      const Matrix numbers = RandomMatrix(random, rows, in);
      for (std::int64_t row = 0; row < rows; ++row) {
        std::vector<float> copy = numbers[static_cast<std::size_t>(row)];
        x.Set(kernels, row, copy.data());
      }
      // [blocks][rows][out]
      std::vector<Matrix> of_blocks;
      for (std::size_t block = 0; block < sources.size(); ++block) {
        const proto::Range inputs = {each.borders[block], each.borders[block + 1]};
        const testing::DenseRows alone(precision, RoundUpRows(rows), inputs.size());
        for (std::int64_t row = 0; row < rows; ++row) {
          const auto begin = numbers[static_cast<std::size_t>(row)].begin();
          alone.Set(kernels, row, {begin + inputs.begin, begin + inputs.end});
        }
        Matrix& products = of_blocks.emplace_back(rows, std::vector<float>(kOut));
        const Linear of_block(backend, precision, sources[block], pool, scratch);
        of_block.Forward(alone.activations(), rows, pool, [&](const ProductTile& tile) {
          for (std::int64_t row = tile.first_row; row < tile.first_row + tile.rows; ++row) {
            std::copy_n(tile.Row(row), tile.columns.size(),
                        products[static_cast<std::size_t>(row)].begin() + tile.columns.begin);
          }
        });
      }
      std::map<int, Matrix> found;
      for (std::size_t number = 0; number < each.results(std::vector<float>(9)).size(); ++number) {
        found[static_cast<int>(number)] =
            Matrix(static_cast<std::size_t>(rows), std::vector<float>(kOut));
      }
      linear.ForwardBlocks(x, rows, pool, [&](const ProductTile& tile, int number) {
        Matrix& to = found.at(number);
        for (std::int64_t row = tile.first_row; row < tile.first_row + tile.rows; ++row) {
          std::copy_n(tile.Row(row), tile.columns.size(),
                      to[static_cast<std::size_t>(row)].begin() + tile.columns.begin);
        }
      });
      std::int64_t wrong = 0;
      for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
        for (std::size_t out = 0; out < kOut; ++out) {
          std::vector<float> products;
          for (const Matrix& of_block : of_blocks) {
            products.push_back(of_block[row][out]);
          }
          const std::vector<float> expected = each.results(products);
          for (std::size_t number = 0; number < expected.size(); ++number) {
            wrong += found.at(static_cast<int>(number))[row][out] == expected[number] ? 0 : 1;
          }
        }
      }
      EXPECT_EQ(wrong, 0);
    }
  }
}

// A rank may have no block of a dimension.
TEST_P(BlockLinear, WithoutBlocksThereIsNoResult) {
  const Kernels& kernels = KernelsFor(DetectCpuFeatures());
  ThreadPool pool(1);
  TileScratch scratch(1);
  Arithmetic arithmetic(kernels, ChooseArithmetic(GetParam(), DetectCpuFeatures()), 1);
  const Linear linear(arithmetic.layer_backend(), GetParam(), std::vector<WeightSource>(), {},
                      kernels, pool, scratch);
  const std::vector<std::int64_t> borders = {0};
  linear.ForwardBlocks({GetParam(), borders, 16, nullptr, nullptr}, 3, pool,
                       [](const ProductTile&, int) { ADD_FAILURE() << "a result of nothing"; });
}

INSTANTIATE_TEST_SUITE_P(All, BlockLinear,
                         ::testing::Values(Precision::kFloat32, Precision::kBfloat16,
                                           Precision::kInt8),
                         [](const auto& test) { return std::string(Name(test.param)); });

}  // namespace block_linear_test
}  // namespace scorecast::shard

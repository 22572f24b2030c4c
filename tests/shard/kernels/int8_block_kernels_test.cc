// Products of blocks in int8, and their sums: equal to a plain computation of each block, added up
// in float32, in every kernel set that has them, and by AMX.

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "shard/kernels/amx_blocks.h"
#include "shard/kernels/kernels.h"
#include "tests/shard/kernels/kernel_sets.h"
#include "tests/shard/random_floats.h"

namespace scorecast::shard {
namespace int8_block_kernels_test {

using testing::RandomInt;

std::size_t Size(std::int64_t n) { return static_cast<std::size_t>(n); }

/// A block's arrays, which have exactly the documented sizes, so that a sanitizer sees accesses
/// beyond them.
struct Arrays {
  std::vector<std::uint8_t> x;        // [rows][in]
  std::vector<float> row_scales;      // [rows]
  std::vector<std::int8_t> w;         // [columns][in]
  std::vector<float> scales;          // [columns], padded
  std::vector<std::int32_t> offsets;  // [columns], padded

  float Product(std::int64_t in, std::int64_t row, std::int64_t column) const {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < in; ++i) {
      sum += std::int64_t{x[Size(row * in + i)]} * w[Size(column * in + i)];
    }
    return static_cast<float>(sum - offsets[Size(column)]) *
           (scales[Size(column)] * row_scales[Size(row)]);
  }
};

using Multiply = void (*)(const Int8BlockProduct& product);

class Int8BlockTest : public KernelsTest {
 protected:
  void Check(std::int64_t rows, std::int64_t columns, const std::vector<Int8Block>& steps) {
    Check(rows, columns, steps, kernels_.int8_products.multiply_blocks);
    if (rows >= kAmxRows && kernels_.int8_products.panel == kAmxPanel &&
        DetectCpuFeatures().Contain({CpuFeature::kAmxInt8})) {
      SCOPED_TRACE("AMX");
      Check(rows, columns, steps, kMultiplyInt8BlocksWithAmx);
    }
  }

 private:
  void Check(std::int64_t rows, std::int64_t columns, const std::vector<Int8Block>& steps,
             Multiply multiply) {
    SCOPED_TRACE(std::to_string(rows) + " rows, " + std::to_string(columns) + " columns, " +
                 std::to_string(steps.size()) + " blocks");
    const Int8ProductKernels& kernels = kernels_.int8_products;
    const std::int64_t panels = (columns + kernels.panel - 1) / kernels.panel;
    std::int64_t in = 0;
    for (const Int8Block& block : steps) {
      in += block.in;
    }
    std::vector<std::int8_t> packed(Size(panels * kernels.panel * in), 99);
    std::vector<Arrays> arrays;
    std::vector<Int8Block> blocks = steps;
    std::int64_t before = 0;
    for (Int8Block& block : blocks) {
      Arrays& of =
          arrays.emplace_back(RandomArrays(rows, columns, panels * kernels.panel, block.in));
      for (std::int64_t panel = 0; panel < panels; ++panel) {
        const std::int64_t first = panel * kernels.panel;
        kernels.pack(of.w.data() + first * block.in, std::min(kernels.panel, columns - first),
                     block.in, packed.data() + kernels.panel * (panel * in + before));
      }
      block.packed = packed.data() + kernels.panel * before;
      before += block.in;
    }
    std::int64_t results = 0;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      blocks[i].x = arrays[i].x.data();
      blocks[i].row_scales = arrays[i].row_scales.data();
      blocks[i].scales = arrays[i].scales.data();
      blocks[i].offsets = arrays[i].offsets.data();
      results += blocks[i].is_result ? 1 : 0;
    }
    std::vector<float> y(Size(results * rows * columns));
    multiply({.blocks = blocks.data(),
              .count = static_cast<std::int64_t>(blocks.size()),
              .panel_bytes = kernels.panel * in,
              .rows = rows,
              .columns = columns,
              .y = y.data(),
              .result_size = rows * columns});
    std::int64_t wrong = 0;
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t column = 0; column < columns; ++column) {
        std::vector<float> stack;
        const float* result = y.data() + row * columns + column;
        for (std::size_t i = 0; i < blocks.size(); ++i) {
          stack.push_back(arrays[i].Product(blocks[i].in, row, column));
          for (int join = 0; join < blocks[i].joins; ++join) {
            const float right = stack.back();
            stack.pop_back();
            stack.back() += right;
          }
          if (blocks[i].is_result) {
            wrong += stack.size() == 1 && stack.front() == *result ? 0 : 1;
            stack.clear();
            result += rows * columns;
          }
        }
      }
    }
    EXPECT_EQ(wrong, 0);
  }

  Arrays RandomArrays(std::int64_t rows, std::int64_t columns, std::int64_t padded,
                      std::int64_t in) {
    Arrays arrays;
    for (std::int64_t i = 0; i < rows * in; ++i) {
      arrays.x.push_back(static_cast<std::uint8_t>(RandomInt(random_, 0, 255)));
    }
    for (std::int64_t row = 0; row < rows; ++row) {
      arrays.row_scales.push_back(1.0F / static_cast<float>(RandomInt(random_, 1, 1000)));
    }
    arrays.scales.assign(Size(padded), 0.0F);
    arrays.offsets.assign(Size(padded), 0);
    for (std::int64_t column = 0; column < columns; ++column) {
      arrays.scales[Size(column)] = 1.0F / static_cast<float>(RandomInt(random_, 1, 1000));
      for (std::int64_t i = 0; i < in; ++i) {
        arrays.w.push_back(static_cast<std::int8_t>(RandomInt(random_, -127, 127)));
        arrays.offsets[Size(column)] += 128 * arrays.w.back();
      }
    }
    return arrays;
  }

  std::mt19937 random_{7};
};

Int8Block Of(std::int64_t in, int joins, bool is_result) {
  return {.in = in, .joins = joins, .is_result = is_result};
}

TEST_P(Int8BlockTest, EqualsAPlainComputation) {
  const std::vector<std::vector<Int8Block>> cases = {
      {Of(64, 0, true)},
      {Of(64, 0, false), Of(64, 1, true)},
      {Of(4, 0, false), Of(600, 0, false), Of(20, 2, true), Of(8, 0, true)},
      {Of(64, 0, false), Of(128, 0, false), Of(192, 0, false), Of(60, 3, true), Of(224, 0, true)},
      {Of(32, 0, false), Of(32, 1, false), Of(32, 0, false), Of(32, 2, true), Of(32, 0, false),
       Of(36, 1, true)}};
  for (const std::vector<Int8Block>& blocks : cases) {
    for (const std::int64_t rows : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 25}) {
      Check(rows, 45, blocks);
    }
    Check(128, 64, blocks);
    Check(17, 1, blocks);
    for (const std::int64_t rows : {16, 31, 32, 33, 47, 112}) {
      Check(rows, 33, blocks);
    }
  }
}

// As many products wait as there is room for.
TEST_P(Int8BlockTest, HasRoomForTheDeepestSum) {
  std::vector<Int8Block> blocks(Size(kMostWaitingBlocks), Of(4, 0, false));
  blocks.push_back(Of(4, static_cast<int>(kMostWaitingBlocks), true));
  Check(13, 33, blocks);
}

std::vector<KernelSet> SetsWithBlocks() {
  std::vector<KernelSet> sets = UsableKernelSets();
  std::erase_if(sets, [](const KernelSet& set) {
    return set.kernels->int8_products.multiply_blocks == nullptr;
  });
  return sets;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Int8BlockTest);
INSTANTIATE_TEST_SUITE_P(Kernels, Int8BlockTest, ::testing::ValuesIn(SetsWithBlocks()),
                         KernelSetName);

}  // namespace int8_block_kernels_test
}  // namespace scorecast::shard

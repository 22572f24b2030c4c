// Int8 weights of our own backend: exact sums of rounded weights and activations, the same bits in
// every kernel set, for any rows and columns of one call.

#include "shard/linear/int8_panel_weight.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "proto/base/error.h"
#include "shard/kernels/kernels.h"
#include "shard/linear/gemm_backend.h"
#include "shard/linear/packed_backend.h"
#include "shard/runtime/thread_pool.h"
#include "tests/shard/kernels/kernel_sets.h"
#include "tests/shard/linear/dense_rows.h"
#include "tests/shard/random_floats.h"

namespace scorecast::shard {
namespace int8_panel_weight_test {

using testing::RandomFloats;
using testing::RandomInt;
using testing::SameBits;

constexpr int kThreads = 2;

class Int8PanelWeightTest : public KernelsTest {
 protected:
  /// A weight W [Σ widths, in] as PackedBackend packs it.
  std::unique_ptr<PackedWeight> Pack(const std::vector<std::int64_t>& widths, std::int64_t in,
                                     const std::vector<float>& weights) {
    WeightSource source;
    source.widths = widths;
    source.in = in;
    source.read = [&](std::int64_t chunk, float* rows) {
      const std::int64_t first =
          std::accumulate(widths.begin(), widths.begin() + chunk, std::int64_t{0});
      std::copy_n(weights.begin() + first * in, widths[static_cast<std::size_t>(chunk)] * in, rows);
    };
    return backend_.Pack(Precision::kInt8, source, pool_);
  }

  std::vector<float> Multiply(const PackedWeight& weight, const Activations& x,
                              std::int64_t first_row, std::int64_t rows, std::int64_t chunk,
                              proto::Range columns) const {
    std::vector<float> y(static_cast<std::size_t>(RoundUpRows(rows) * columns.size()));
    weight.Multiply(x, first_row, rows, chunk, columns, y.data(), kThreads - 1);
    y.resize(static_cast<std::size_t>(rows * columns.size()));
    return y;
  }

  /// Row `row` of x · Wᵀ for a chunk, whose rows are quantized with these kernels.
  std::vector<float> Plain(const Activations& x, std::int64_t row, const Int8Chunk& chunk) const {
    std::vector<float> y;
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(x.Row(row));
    for (std::size_t output = 0; output < chunk.scales.size(); ++output) {
      const std::int8_t* w = chunk.values.data() + static_cast<std::int64_t>(output) * x.width;
      std::int64_t sum = 0;
      for (std::int64_t i = 0; i < x.width; ++i) {
        sum += std::int64_t{int{bytes[i]} - 128} * w[i];
      }
      y.push_back(static_cast<float>(sum) * (chunk.scales[output] * x.scales[row]));
    }
    return y;
  }

  std::mt19937 random_{7};
  ThreadPool pool_{kThreads};
  PackedBackend backend_{kernels_, kThreads};
};

TEST_P(Int8PanelWeightTest, AnyPartHasTheBitsOfAPlainComputation) {
  const std::vector<std::int64_t> widths = {271, 1, 8, 64};
  for (const std::int64_t in : {1, 5, 259, 1024}) {
    const std::vector<float> weights = RandomFloats(random_, 344 * in);
    const auto packed = Pack(widths, in, weights);
    const testing::DenseRows x(Precision::kInt8, RoundUpRows(kMostTileRows), in);
    for (std::int64_t row = 0; row < kMostTileRows; ++row) {
      x.Set(kernels_, row, RandomFloats(random_, in));
    }
    const std::int64_t granule = packed->column_granule();
    auto first = weights.begin();
    for (std::int64_t chunk = 0; chunk < 4; ++chunk) {
      const std::int64_t width = widths[static_cast<std::size_t>(chunk)];
      std::vector<float> rows(first, first + width * in);
      first += width * in;
      const Int8Chunk int8 = QuantizeChunk(kernels_, rows.data(), width, in);
      std::vector<std::vector<float>> plain;
      for (std::int64_t row = 0; row < kMostTileRows; ++row) {
        plain.push_back(Plain(x.activations(), row, int8));
      }
      for (int round = 0; round < 20; ++round) {
        const std::int64_t count = round < 8 ? round + 1 : RandomInt(random_, 1, kMostTileRows);
        const std::int64_t first_row = RandomInt(random_, 0, kMostTileRows - count);
        const std::int64_t begin = RandomInt(random_, 0, (width - 1) / granule) * granule;
        const std::int64_t end =
            std::min(width, RandomInt(random_, begin / granule + 1, width / granule + 1) * granule);
        const std::vector<float> part =
            Multiply(*packed, x.activations(), first_row, count, chunk, {begin, end});
        const auto size = static_cast<std::size_t>(end - begin);
        for (std::int64_t row = 0; row < count; ++row) {
          const std::vector<float>& expected = plain[static_cast<std::size_t>(first_row + row)];
          ASSERT_TRUE(SameBits(std::span(expected).subspan(static_cast<std::size_t>(begin), size),
                               std::span(part).subspan(static_cast<std::size_t>(row) * size, size)))
              << "row " << row << " of " << count << ", columns " << begin << " to " << end
              << ", in " << in;
        }
      }
    }
  }
}

TEST_P(Int8PanelWeightTest, AWeightTooDeepForItsSumsIsAStartupFault) {
  const auto pack = [&](std::int64_t in) {
    return Pack({2}, in, std::vector<float>(static_cast<std::size_t>(2 * in), 1.0F));
  };
  EXPECT_NE(pack(kDeepestInt8), nullptr);
  try {
    pack(kDeepestInt8 + 1);
    FAIL() << "no fault";
  } catch (const proto::StartupError& fault) {
    EXPECT_STREQ(fault.what(), "--dtype int8: a weight has too many inputs: 131073 > 131072");
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Int8PanelWeightTest, ::testing::ValuesIn(UsableKernelSets()),
                         KernelSetName);

}  // namespace int8_panel_weight_test
}  // namespace scorecast::shard

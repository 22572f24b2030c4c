// Products of blocks of inputs in int8, and their sums; see int8_product_kernels.h. A part of
// kernels_body.h, behind int8_product_body.h.
//
// A tile of some rows and one panel computes all blocks before the next tile begins. So a product
// goes from the registers, in which it is summed, straight into the sum over blocks.

#include <cstdint>
#include <cstring>
#include <utility>

#include "shard/kernels/int8_product_kernels.h"

namespace scorecast::shard::SCORECAST_KERNELS_NAMESPACE {
namespace {
namespace int8 {

// Without instructions for bytes, the numbers of a row have to be widened before a product.
#if defined(__AVX512VNNI__) || defined(__AVXVNNI__)

/// A tile of a product with blocks.
struct BlockTile {
  const Int8BlockProduct* product = nullptr;
  std::int64_t row = 0;  // The first row.
  std::int64_t panel = 0;
  std::int64_t columns = 0;  // The last panel may have fewer than kPanel.
};

/// What is added to the products of a block, and where the sums go.
struct BlockSum {
  const float* waiting = nullptr;  // Sums of earlier blocks, [joins][kHeight][kPanel].
  int joins = 0;
  float* to = nullptr;
  std::int64_t stride = 0;  // Distance between rows of `to`.
};

/// The products of one block, and what waits for them, in float32.
template <int kHeight>
HWY_NOINLINE void OneBlock(const Int8Block& block, const BlockTile& tile, const BlockSum& to) {
  Ints sums[kHeight][kVectors];
  Clear(sums);
  const std::int64_t stride = block.in;
  const std::uint8_t* x = block.x + tile.row * stride;
  const std::int8_t* weights = block.packed + tile.panel * tile.product->panel_bytes;
  const std::int64_t steps = block.in / kStep;
  for (std::int64_t step = 0; step < steps; ++step) {
    AddStep(x, stride, weights, sums);
    x += kStep;
    weights += kPanel * kStep;
  }
  const float* row_scales = block.row_scales + tile.row;
  const std::int64_t column = tile.panel * kPanel;
  HWY_UNROLL(16)
  for (int row = 0; row < kHeight; ++row) {
    HWY_UNROLL(16)
    for (int v = 0; v < kVectors; ++v) {
      Floats sum = Dequantized(sums[row][v], block.offsets + column + v * kLanes,
                               block.scales + column + v * kLanes, row_scales[row]);
      for (int last = to.joins - 1; last >= 0; --last) {
        sum = hn::Add(Load(to.waiting + (last * kHeight + row) * kPanel + v * kLanes), sum);
      }
      Store(sum, to.to + row * to.stride + v * kLanes);
    }
  }
}

template <int kHeight>
void AllBlocks(const BlockTile& tile) {
  const Int8BlockProduct& product = *tile.product;
  alignas(64) float waiting[kMostWaitingBlocks][kHeight * kPanel];
  int depth = 0;
  float* result = product.y + tile.row * product.columns + tile.panel * kPanel;
  for (std::int64_t i = 0; i < product.count; ++i) {
    const Int8Block& block = product.blocks[i];
    depth -= block.joins;
    // A result of a narrow panel does not fit between those of its neighbours.
    const bool fits = block.is_result && tile.columns == kPanel;
    // The sum replaces the lowest of what waited for it: each number is read before it is written.
    float* to = fits ? result : waiting[depth];
    OneBlock<kHeight>(block, tile,
                      {waiting[depth], block.joins, to, fits ? product.columns : kPanel});
    if (!block.is_result) {
      ++depth;
      continue;
    }
    for (std::int64_t row = 0; !fits && row < kHeight; ++row) {
      std::memcpy(result + row * product.columns, to + row * kPanel,
                  static_cast<std::size_t>(tile.columns) * sizeof(float));
    }
    result += product.result_size;
  }
}

template <int... kRow>
void AllBlocksOfHeight(std::int64_t height, const BlockTile& tile,
                       std::integer_sequence<int, kRow...> /*rows*/) {
  using Kernel = void (*)(const BlockTile& tile);
  constexpr Kernel kTiles[] = {&AllBlocks<kRow + 1>...};
  kTiles[height - 1](tile);
}

void MultiplyBlocks(const Int8BlockProduct& product) {
  const std::int64_t rows = product.rows;
  const std::int64_t tiles = (rows + kMostHeight - 1) / kMostHeight;
  for (std::int64_t panel = 0; panel * kPanel < product.columns; ++panel) {
    const std::int64_t rest = product.columns - panel * kPanel;
    for (std::int64_t i = 0; i < tiles; ++i) {
      const std::int64_t row = i * rows / tiles;
      AllBlocksOfHeight((i + 1) * rows / tiles - row,
                        {&product, row, panel, rest < kPanel ? rest : kPanel},
                        std::make_integer_sequence<int, kMostHeight>());
    }
  }
}

constexpr void (*kMultiplyBlocks)(const Int8BlockProduct& product) = &MultiplyBlocks;

#else

constexpr void (*kMultiplyBlocks)(const Int8BlockProduct& product) = nullptr;

#endif

}  // namespace int8

constexpr Int8ProductKernels MakeInt8Products() {
  return {int8::kPanel, int8::kStep, &int8::Pack, &int8::Multiply, int8::kMultiplyBlocks};
}

}  // namespace
}  // namespace scorecast::shard::SCORECAST_KERNELS_NAMESPACE

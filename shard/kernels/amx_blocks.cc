// Products of blocks of inputs in int8, and their sums, by AMX.
//
// An instruction multiplies 16 rows of 64 bytes by 64 weights of 16 outputs, and adds the products
// to 16 x 16 sums. Two tiles of rows and the two tiles of a panel are computed together, so each is
// loaded once for two products. Tiles can only be read from memory, where the sums of a block are
// dequantized and added to those of other blocks. All blocks are computed before the next rows
// begin, so everything but the inputs and the weights stays in the L1 cache.

#include "shard/kernels/amx_blocks.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#ifdef __AMX_INT8__
#include <immintrin.h>
#endif

namespace scorecast::shard {

#ifdef __AMX_INT8__
namespace {

/// Inputs that one instruction multiplies.
constexpr std::int64_t kDepth = 64;
/// Outputs of a vector and of a tile.
constexpr std::int64_t kLanes = 16;
static_assert(kAmxPanel == 2 * kLanes);
/// Bytes of a panel's row of weights or sums.
constexpr std::int64_t kPanelBytes = kAmxPanel * std::int64_t{sizeof(std::int32_t)};
static_assert(kAmxStep * kAmxPanel == kPanelBytes);
constexpr std::int64_t kMostRows = 2 * kAmxRows;

/// The operand of ldtilecfg: eight tiles of 16 rows of 64 bytes.
struct alignas(64) TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfig) == 64);

/// What is computed together: kAmxRows or kMostRows rows, one panel, and one block after the other.
struct Part {
  const Int8BlockProduct* product = nullptr;
  std::int64_t row = 0;  // The first row.
  std::int64_t panel = 0;
};

struct Scratch {
  // A block's last inputs, if they do not fill a tile, and their weights. Zeros follow the inputs,
  // so it does not matter which weights follow theirs.
  alignas(64) std::uint8_t x[kMostRows][kDepth] = {};
  alignas(64) std::int8_t weights[kDepth / kAmxStep][kPanelBytes] = {};
  alignas(64) std::int32_t sums[kMostRows * kAmxPanel];
  alignas(64) float waiting[kMostWaitingBlocks][kMostRows * kAmxPanel];
};

/// Adds products of kDepth inputs to tiles 0 to 3, of which two have the first kAmxRows rows.
template <int kRowTiles>
void AddProducts(const std::uint8_t* x, std::int64_t stride, const std::int8_t* weights) {
  _tile_loadd(4, x, stride);
  _tile_loadd(6, weights, kPanelBytes);
  _tile_dpbusd(0, 4, 6);
  _tile_loadd(7, weights + kPanelBytes / 2, kPanelBytes);
  _tile_dpbusd(1, 4, 7);
  if constexpr (kRowTiles == 2) {
    _tile_loadd(5, x + kAmxRows * stride, stride);
    _tile_dpbusd(2, 5, 6);
    _tile_dpbusd(3, 5, 7);
  }
}

/// Writes a block's sums to the scratch memory.
template <int kRowTiles>
void MultiplyBlock(const Part& part, const Int8Block& block, Scratch& scratch) {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  const std::uint8_t* x = block.x + part.row * block.in;
  const std::int8_t* weights = block.packed + part.panel * part.product->panel_bytes;
  std::int64_t left = block.in;
  for (; left >= kDepth; left -= kDepth) {
    AddProducts<kRowTiles>(x, block.in, weights);
    x += kDepth;
    weights += kDepth * kAmxPanel;
  }
  if (left > 0) {
    const __mmask64 mask = (__mmask64{1} << static_cast<unsigned>(left)) - 1;
    for (std::int64_t row = 0; row < kRowTiles * kAmxRows; ++row) {
      _mm512_store_si512(scratch.x[row], _mm512_maskz_loadu_epi8(mask, x + row * block.in));
    }
    std::memcpy(scratch.weights, weights, static_cast<std::size_t>(left * kAmxPanel));
    // The compiler does not know that tiles are loaded from this memory.
    asm volatile("" ::: "memory");
    AddProducts<kRowTiles>(scratch.x[0], kDepth, scratch.weights[0]);
  }
  _tile_stored(0, scratch.sums, kPanelBytes);
  _tile_stored(1, scratch.sums + kLanes, kPanelBytes);
  if constexpr (kRowTiles == 2) {
    _tile_stored(2, scratch.sums + kAmxRows * kAmxPanel, kPanelBytes);
    _tile_stored(3, scratch.sums + kAmxRows * kAmxPanel + kLanes, kPanelBytes);
  }
}

/// What is added to the products of a block, and where the sums go.
struct BlockSum {
  const float* waiting = nullptr;  // Sums of earlier blocks, [joins][kMostRows][kAmxPanel].
  float* to = nullptr;
  std::int64_t stride = 0;  // Distance between rows of `to`.
};

/// Dequantizes the sums of a block, and adds what waits for it: kJoins sums, or as many as the
/// block has if that is negative.
template <int kRowTiles, int kJoins>
void FinishBlock(const Part& part, const Int8Block& block, const std::int32_t* sums,
                 const BlockSum& sum) {
  const int joins = kJoins < 0 ? block.joins : kJoins;
  const float* row_scales = block.row_scales + part.row;
  const float* scales = block.scales + part.panel * kAmxPanel;
  const std::int32_t* offsets = block.offsets + part.panel * kAmxPanel;
  const __m512 left_scales = _mm512_loadu_ps(scales);
  const __m512 right_scales = _mm512_loadu_ps(scales + kLanes);
  const __m512i left_offsets = _mm512_loadu_si512(offsets);
  const __m512i right_offsets = _mm512_loadu_si512(offsets + kLanes);
  const float* waiting = sum.waiting;
  float* to = sum.to;
  const auto finish = [&](__m512i offset, __m512 scale, std::int64_t column) {
    const __m512i product = _mm512_sub_epi32(_mm512_load_si512(sums + column), offset);
    __m512 total = _mm512_mul_ps(_mm512_cvtepi32_ps(product), scale);
    for (int last = joins - 1; last >= 0; --last) {
      total = _mm512_add_ps(_mm512_load_ps(waiting + last * kMostRows * kAmxPanel + column), total);
    }
    _mm512_storeu_ps(to + column, total);
  };
  for (std::int64_t row = 0; row < kRowTiles * kAmxRows; ++row) {
    const __m512 row_scale = _mm512_set1_ps(row_scales[row]);
    finish(left_offsets, _mm512_mul_ps(left_scales, row_scale), 0);
    finish(right_offsets, _mm512_mul_ps(right_scales, row_scale), kLanes);
    sums += kAmxPanel;
    waiting += kAmxPanel;
    to += sum.stride;
  }
}

/// The usual numbers of joins are constants of the loop.
template <int kRowTiles>
void FinishBlock(const Part& part, const Int8Block& block, const std::int32_t* sums,
                 const BlockSum& sum) {
  switch (block.joins) {
    case 0:
      return FinishBlock<kRowTiles, 0>(part, block, sums, sum);
    case 1:
      return FinishBlock<kRowTiles, 1>(part, block, sums, sum);
    case 2:
      return FinishBlock<kRowTiles, 2>(part, block, sums, sum);
    default:
      return FinishBlock<kRowTiles, -1>(part, block, sums, sum);
  }
}

template <int kRowTiles>
void AllBlocks(const Part& part, Scratch& scratch) {
  const Int8BlockProduct& product = *part.product;
  const std::int64_t columns = std::min(kAmxPanel, product.columns - part.panel * kAmxPanel);
  float* result = product.y + part.row * product.columns + part.panel * kAmxPanel;
  std::int64_t depth = 0;
  for (std::int64_t i = 0; i < product.count; ++i) {
    const Int8Block& block = product.blocks[i];
    depth -= block.joins;
    // A result of a narrow panel does not fit between those of its neighbours.
    const bool fits = block.is_result && columns == kAmxPanel;
    // The sum replaces the lowest of what waited for it: each number is read before it is written.
    float* to = fits ? result : scratch.waiting[depth];
    MultiplyBlock<kRowTiles>(part, block, scratch);
    FinishBlock<kRowTiles>(part, block, scratch.sums,
                           {scratch.waiting[depth], to, fits ? product.columns : kAmxPanel});
    if (!block.is_result) {
      ++depth;
      continue;
    }
    for (std::int64_t row = 0; !fits && row < kRowTiles * kAmxRows; ++row) {
      std::memcpy(result + row * product.columns, to + row * kAmxPanel,
                  static_cast<std::size_t>(columns) * sizeof(float));
    }
    result += product.result_size;
  }
}

void MultiplyBlocks(const Int8BlockProduct& product) {
  const TileConfig config;
  _tile_loadconfig(&config);
  Scratch scratch;
  for (std::int64_t panel = 0; panel * kAmxPanel < product.columns; ++panel) {
    for (std::int64_t row = 0; row < product.rows;) {
      const bool is_high = product.rows >= kMostRows && product.rows - row > kAmxRows;
      const std::int64_t height = is_high ? kMostRows : kAmxRows;
      // The last rows may be computed twice: their bits are the same.
      const Part part = {&product, std::min(row, product.rows - height), panel};
      if (is_high) {
        AllBlocks<2>(part, scratch);
      } else {
        AllBlocks<1>(part, scratch);
      }
      row += height;
    }
  }
  _tile_release();
}

}  // namespace

void (*const kMultiplyBlocksWithAmx)(const Int8BlockProduct& product) = &MultiplyBlocks;
#else
void (*const kMultiplyBlocksWithAmx)(const Int8BlockProduct& product) = nullptr;
#endif

}  // namespace scorecast::shard

// Products of blocks of inputs in int8 and bfloat16, and their sums, by AMX.
//
// An instruction multiplies 16 rows of 64 bytes by 64 bytes of weights of 16 outputs, and adds the
// products to 16 x 16 sums. Two tiles of rows and the two tiles of a panel are computed together,
// so each is loaded once for two products. Tiles can only be read from memory, where the sums of a
// block are dequantized, if they are of int8, and added to those of other blocks. All blocks are
// computed before the next rows begin, so everything but the inputs and the weights stays in the L1
// cache.

#include "shard/kernels/amx_blocks.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>

#ifdef __AMX_INT8__
#include <immintrin.h>

#include "shard/kernels/amx_tile_config.h"
#endif

namespace scorecast::shard {

#ifdef __AMX_INT8__
namespace {

/// Bytes of a row that one instruction multiplies.
constexpr std::int64_t kDepth = 64;
/// Outputs of a vector and of a tile.
constexpr std::int64_t kLanes = 16;
static_assert(kAmxPanel == 2 * kLanes);
/// Bytes of a panel's row of weights or sums.
constexpr std::int64_t kPanelBytes = kAmxPanel * std::int64_t{sizeof(float)};
static_assert(kAmxStep * kAmxPanel == kPanelBytes);
constexpr std::int64_t kMostRows = 2 * kAmxRows;

/// What is computed together: kAmxRows or kMostRows rows, one panel, and one block after the other.
template <typename Block>
struct Part {
  const BlockProduct<Block>* product = nullptr;
  std::int64_t row = 0;  // The first row.
  std::int64_t panel = 0;
};

struct Scratch {
  // A block's last inputs and their weights, if they do not fill a tile. Zeros follow.
  alignas(64) std::byte x[kMostRows][kDepth];
  alignas(64) std::byte weights[kDepth / kAmxStep][kPanelBytes];
  alignas(64) std::byte sums[kMostRows * kPanelBytes];
  alignas(64) float waiting[kMostWaitingBlocks][kMostRows * kAmxPanel];
};

/// Adds products of kDepth bytes to tiles 0 to 3, of which the first two have the first rows.
template <bool kIsInt8, int kRowTiles>
void AddProducts(const std::byte* x, std::int64_t stride, const std::byte* weights) {
  _tile_loadd(4, x, stride);
  _tile_loadd(6, weights, kPanelBytes);
  _tile_loadd(7, weights + kPanelBytes / 2, kPanelBytes);
  if constexpr (kRowTiles == 2) {
    _tile_loadd(5, x + kAmxRows * stride, stride);
  }
  if constexpr (kIsInt8) {
    _tile_dpbusd(0, 4, 6);
    _tile_dpbusd(1, 4, 7);
    if constexpr (kRowTiles == 2) {
      _tile_dpbusd(2, 5, 6);
      _tile_dpbusd(3, 5, 7);
    }
  } else {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    if constexpr (kRowTiles == 2) {
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    }
  }
}

/// Writes a block's sums to the scratch memory.
template <int kRowTiles, typename Block>
void MultiplyBlock(const Part<Block>& part, const Block& block, Scratch& scratch) {
  constexpr bool kIsInt8 = std::is_same_v<Block, Int8Block>;
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  const std::int64_t stride = block.in * std::int64_t{sizeof(*block.x)};
  const auto* x = reinterpret_cast<const std::byte*>(block.x) + part.row * stride;
  const std::byte* weights =
      reinterpret_cast<const std::byte*>(block.packed) + part.panel * part.product->panel_bytes;
  std::int64_t left = stride;
  for (; left >= kDepth; left -= kDepth) {
    AddProducts<kIsInt8, kRowTiles>(x, stride, weights);
    x += kDepth;
    weights += kDepth * kAmxPanel;
  }
  if (left > 0) {
    const __mmask64 mask = (__mmask64{1} << static_cast<unsigned>(left)) - 1;
    for (std::int64_t row = 0; row < kRowTiles * kAmxRows; ++row) {
      _mm512_store_si512(scratch.x[row], _mm512_maskz_loadu_epi8(mask, x + row * stride));
    }
    const auto size = static_cast<std::size_t>(left * kAmxPanel);
    std::memcpy(scratch.weights, weights, size);
    std::memset(scratch.weights[0] + size, 0, sizeof(scratch.weights) - size);
    // The compiler does not know that tiles are loaded from this memory.
    asm volatile("" ::: "memory");
    AddProducts<kIsInt8, kRowTiles>(scratch.x[0], kDepth, scratch.weights[0]);
  }
  _tile_stored(0, scratch.sums, kPanelBytes);
  _tile_stored(1, scratch.sums + kPanelBytes / 2, kPanelBytes);
  if constexpr (kRowTiles == 2) {
    _tile_stored(2, scratch.sums + kAmxRows * kPanelBytes, kPanelBytes);
    _tile_stored(3, scratch.sums + kAmxRows * kPanelBytes + kPanelBytes / 2, kPanelBytes);
  }
}

/// What is added to the products of a block, and where the sums go.
struct BlockSum {
  const float* waiting = nullptr;  // Sums of earlier blocks, [joins][kMostRows][kAmxPanel].
  float* to = nullptr;
  std::int64_t stride = 0;  // Distance between rows of `to`.
};

/// The products of a block with one vector of outputs in float32, from their sums.
struct Int8Products {
  Int8Products(const Int8Block& block, std::int64_t row, std::int64_t column)
      : row_scales(block.row_scales + row),
        scales(_mm512_loadu_ps(block.scales + column)),
        offsets(_mm512_loadu_si512(block.offsets + column)) {}

  /// Gives the products of one row. `sums` are its sums.
  __m512 Of(std::int64_t row, const std::byte* sums) const {
    const __m512i sum = _mm512_sub_epi32(_mm512_load_si512(sums), offsets);
    const __m512 scale = _mm512_mul_ps(scales, _mm512_set1_ps(row_scales[row]));
    return _mm512_mul_ps(_mm512_cvtepi32_ps(sum), scale);
  }

  const float* row_scales;
  __m512 scales;
  __m512i offsets;
};
struct Bf16Products {
  Bf16Products(const Bf16Block& /*block*/, std::int64_t /*row*/, std::int64_t /*column*/) {}

  __m512 Of(std::int64_t /*row*/, const std::byte* sums) const { return _mm512_load_ps(sums); }
};

/// Adds to the products of a block what waits for them: kJoins sums, or as many as the block has if
/// that is negative.
template <int kRowTiles, int kJoins, typename Block>
void FinishBlock(const Part<Block>& part, const Block& block, const std::byte* sums,
                 const BlockSum& sum) {
  using Products = std::conditional_t<std::is_same_v<Block, Int8Block>, Int8Products, Bf16Products>;
  // Two objects, because GCC 12 keeps an array of vectors in memory.
  const Products left(block, part.row, part.panel * kAmxPanel);
  const Products right(block, part.row, part.panel * kAmxPanel + kLanes);
  const int joins = kJoins < 0 ? block.joins : kJoins;
  const float* waiting = sum.waiting;
  float* to = sum.to;
  const auto add = [&](__m512 total, std::int64_t column) {
    for (int last = joins - 1; last >= 0; --last) {
      const float* other = waiting + last * kMostRows * kAmxPanel + column;
      total = _mm512_add_ps(_mm512_load_ps(other), total);
    }
    _mm512_storeu_ps(to + column, total);
  };
  for (std::int64_t row = 0; row < kRowTiles * kAmxRows; ++row) {
    add(left.Of(row, sums), 0);
    add(right.Of(row, sums + kPanelBytes / 2), kLanes);
    sums += kPanelBytes;
    waiting += kAmxPanel;
    to += sum.stride;
  }
}

/// The usual numbers of joins are constants of the loop.
template <int kRowTiles, typename Block>
void FinishBlock(const Part<Block>& part, const Block& block, const std::byte* sums,
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

template <int kRowTiles, typename Block>
void AllBlocks(const Part<Block>& part, Scratch& scratch) {
  const BlockProduct<Block>& product = *part.product;
  const std::int64_t columns = std::min(kAmxPanel, product.columns - part.panel * kAmxPanel);
  float* result = product.y + part.row * product.columns + part.panel * kAmxPanel;
  std::int64_t depth = 0;
  for (std::int64_t i = 0; i < product.count; ++i) {
    const Block& block = product.blocks[i];
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

template <typename Block>
void MultiplyBlocks(const BlockProduct<Block>& product) {
  static constexpr AmxTileConfig kConfig;
  _tile_loadconfig(&kConfig);
  Scratch scratch;
  for (std::int64_t panel = 0; panel * kAmxPanel < product.columns; ++panel) {
    for (std::int64_t row = 0; row < product.rows;) {
      const bool is_high = product.rows >= kMostRows && product.rows - row > kAmxRows;
      const std::int64_t height = is_high ? kMostRows : kAmxRows;
      // The last rows may be computed twice: their bits are the same.
      const Part<Block> part = {&product, std::min(row, product.rows - height), panel};
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

void (*const kMultiplyInt8BlocksWithAmx)(const Int8BlockProduct& product) = &MultiplyBlocks;
void (*const kMultiplyBf16BlocksWithAmx)(const Bf16BlockProduct& product) = &MultiplyBlocks;
#else
void (*const kMultiplyInt8BlocksWithAmx)(const Int8BlockProduct& product) = nullptr;
void (*const kMultiplyBf16BlocksWithAmx)(const Bf16BlockProduct& product) = nullptr;
#endif

}  // namespace scorecast::shard

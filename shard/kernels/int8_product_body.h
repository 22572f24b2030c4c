// Products of activations in bytes and weights in int8; see int8_product_kernels.h. A part of
// kernels_body.h.
//
// A 32-bit lane multiplies kStep numbers of a row by as many weights of one output, and adds them
// up: four bytes if the CPU has vpdpbusd, otherwise two numbers widened to 16 bits (vpmaddwd). With
// bytes, vpmaddubsw would saturate.
//
// Packed layout: blocks of kBlock inputs; in each, panels of kPanel outputs; in each, steps of
// kStep inputs; in each, kStep weights of the first output, of the second, and so on. Missing
// outputs and inputs are zeros. A product thus reads the weights of a block in the order of their
// addresses.

#include <cstdint>
#include <cstring>
#include <utility>

#include <hwy/cache_control.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "shard/kernels/int8_product_kernels.h"

namespace scorecast::shard::SCORECAST_KERNELS_NAMESPACE {
namespace {
namespace int8 {

constexpr IntTag kTag;

/// Vectors of one panel.
constexpr int kVectors = 2;
constexpr std::int64_t kPanel = kVectors * kLanes;
/// Most rows of a tile: the tile's sums then fill three quarters of the registers.
constexpr int kMostHeight = HWY_TARGET <= HWY_AVX3 ? 12 : 6;

#if defined(__AVX512VNNI__) || defined(__AVXVNNI__)

constexpr std::int64_t kStep = 4;
using Staged = std::uint8_t;
using Weight = std::int8_t;
using Weights = Ints;  // The bytes of kLanes steps.

HWY_INLINE Weights Read(const std::int8_t* w) {
  return hn::LoadU(kTag, reinterpret_cast<const std::int32_t*>(w));
}

HWY_INLINE Ints AddProducts(Ints sum, Ints x, Weights w) {
#if defined(__AVX512VNNI__)
  return Ints{_mm512_dpbusd_epi32(sum.raw, x.raw, w.raw)};
#else
  return Ints{_mm256_dpbusd_avx_epi32(sum.raw, x.raw, w.raw)};
#endif
}

/// Copies the numbers of a row and pads them to whole steps.
HWY_INLINE void Stage(const std::uint8_t* x, std::int64_t n, Staged* out) {
  std::memcpy(out, x, static_cast<std::size_t>(n));
  for (; n % kStep != 0; ++n) {
    out[n] = 0;
  }
}

HWY_INLINE const Weight* Widen(const std::int8_t* weights, std::int64_t /*n*/, Weight* /*out*/) {
  return weights;
}

#else

constexpr std::int64_t kStep = 2;
using Staged = std::int16_t;
using Weight = std::int16_t;
using Words = hn::Repartition<std::int16_t, IntTag>;
using Weights = hn::Vec<Words>;
constexpr Words kWords;
constexpr std::int64_t kWide = 2 * kLanes;

#if HWY_TARGET == HWY_EMU128 && defined(__SSE2__)

// Highway has no target for SSE2 alone, and its portable code would be slow here.
template <typename To, typename From>
HWY_INLINE To Cast(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(static_cast<void*>(&to), &from, sizeof(to));
  return to;
}

HWY_INLINE Weights Read(const std::int8_t* w) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(w));
  return Cast<Weights>(_mm_srai_epi16(_mm_unpacklo_epi8(bytes, bytes), 8));
}

HWY_INLINE Ints AddProducts(Ints sum, Ints x, Weights w) {
  const __m128i products = _mm_madd_epi16(Cast<__m128i>(x), Cast<__m128i>(w));
  return Cast<Ints>(_mm_add_epi32(Cast<__m128i>(sum), products));
}

#else

HWY_INLINE Weights Read(const std::int8_t* w) {
  return hn::PromoteTo(kWords, hn::LoadU(hn::Rebind<std::int8_t, Words>(), w));
}

HWY_INLINE Ints AddProducts(Ints sum, Ints x, Weights w) {
  Ints odd = hn::Zero(kTag);
  const Ints even =
      hn::ReorderWidenMulAccumulate(kTag, hn::BitCast(kWords, x), w, hn::Zero(kTag), odd);
  return hn::Add(sum, hn::RearrangeToOddPlusEven(even, odd));
}

#endif

HWY_INLINE Weights Read(const std::int16_t* w) { return hn::Load(kWords, w); }

/// Widens the numbers of a row and pads them to whole steps.
HWY_INLINE void Stage(const std::uint8_t* x, std::int64_t n, Staged* out) {
  std::int64_t i = 0;
  for (; i + kWide <= n; i += kWide) {
    hn::Store(hn::PromoteTo(kWords, hn::LoadU(hn::Rebind<std::uint8_t, Words>(), x + i)), kWords,
              out + i);
  }
  for (; i < n; ++i) {
    out[i] = x[i];
  }
  for (; i % kStep != 0; ++i) {
    out[i] = 0;
  }
}

HWY_INLINE const Weight* Widen(const std::int8_t* weights, std::int64_t n, Weight* out) {
  for (std::int64_t i = 0; i < n; i += kWide) {
    hn::Store(Read(weights + i), kWords, out + i);
  }
  return out;
}

#endif

/// Inputs of a block. The block's weights of one panel, as a tile reads them, are at most 16 KiB,
/// so that they stay in the L1 cache for all rows; the rows' numbers are at most 128 KiB.
constexpr std::int64_t kWeightsLimit = 16 * 1024 / (kPanel * std::int64_t{sizeof(Weight)});
constexpr std::int64_t kRowsLimit = 128 * 1024 / (kMostInt8Rows * std::int64_t{sizeof(Staged)});
constexpr std::int64_t kBlock = kWeightsLimit < kRowsLimit ? kWeightsLimit : kRowsLimit;

/// Buffers of one product.
struct Scratch {
  Staged x[kMostInt8Rows * kBlock];              // The rows' numbers of a block.
  Weight weights[kPanel * kBlock];               // A panel's weights of a block, widened.
  std::int32_t partial[kMostInt8Rows * kPanel];  // Sums of a last panel that is not full.
};
static_assert(sizeof(Scratch) <= kInt8Scratch && alignof(Scratch) <= 64);

/// A part of a product: some rows, one panel and one block of inputs.
struct Part {
  const Staged* x = nullptr;           // [rows][kBlock]
  std::int64_t steps = 0;              // Steps of the block.
  const std::int8_t* ahead = nullptr;  // Weights for the cache to fetch, and
  std::int64_t ahead_step = 0;         // how many of them for each step.
  std::int32_t* sums = nullptr;        // Float32 results after the last block.
  std::int64_t stride = 0;             // Distance between rows of the sums.
  bool is_first = false;               // Whether this is the first block of inputs.
  bool is_last = false;
  const float* row_scales = nullptr;
  const float* scales = nullptr;
  const std::int32_t* offsets = nullptr;
};

template <int kHeight>
HWY_INLINE void Clear(Ints (&sums)[kHeight][kVectors]) {
  HWY_UNROLL(16)
  for (int row = 0; row < kHeight; ++row) {
    HWY_UNROLL(16)
    for (int v = 0; v < kVectors; ++v) {
      sums[row][v] = hn::Zero(kTag);
    }
  }
}

/// Adds the products of one step of some rows, which are `stride` numbers apart, and of a panel.
template <int kHeight, typename W>
HWY_INLINE void AddStep(const Staged* x, std::int64_t stride, const W* weights,
                        Ints (&sums)[kHeight][kVectors]) {
  Weights w[kVectors];
  HWY_UNROLL(16)
  for (int v = 0; v < kVectors; ++v) {
    w[v] = Read(weights + v * kLanes * kStep);
  }
  HWY_UNROLL(16)
  for (int row = 0; row < kHeight; ++row) {
    std::int32_t numbers = 0;
    std::memcpy(&numbers, x + row * stride, sizeof(numbers));
    const Ints broadcast = hn::Set(kTag, numbers);
    HWY_UNROLL(16)
    for (int v = 0; v < kVectors; ++v) {
      sums[row][v] = AddProducts(sums[row][v], broadcast, w[v]);
    }
  }
}

/// The float32 products of a vector of outputs in one row.
HWY_INLINE Floats Dequantized(Ints sum, const std::int32_t* offsets, const float* scales,
                              float row_scale) {
  const Floats product = hn::ConvertTo(FloatTag(), hn::Sub(sum, hn::LoadU(kTag, offsets)));
  return hn::Mul(product, hn::Mul(Load(scales), Broadcast(row_scale)));
}

/// A tile of one panel. W is int8, or Weight if the weights are widened.
template <int kHeight, typename W>
void Tile(const Part& part, const W* weights) {
  Ints sums[kHeight][kVectors];
  Clear(sums);
  const Staged* x = part.x;
  const std::int8_t* ahead = part.ahead;
  for (std::int64_t step = 0; step < part.steps; ++step) {
    AddStep(x, kBlock, weights, sums);
    hwy::Prefetch(ahead);
    x += kStep;
    weights += kPanel * kStep;
    ahead += part.ahead_step;
  }
  HWY_UNROLL(16)
  for (int row = 0; row < kHeight; ++row) {
    std::int32_t* to = part.sums + row * part.stride;
    HWY_UNROLL(16)
    for (int v = 0; v < kVectors; ++v) {
      Ints sum = sums[row][v];
      if (!part.is_first) {
        sum = hn::Add(sum, hn::LoadU(kTag, to + v * kLanes));
      }
      if (!part.is_last) {
        hn::StoreU(sum, kTag, to + v * kLanes);
        continue;
      }
      Store(Dequantized(sum, part.offsets + v * kLanes, part.scales + v * kLanes,
                        part.row_scales[row]),
            reinterpret_cast<float*>(to + v * kLanes));
    }
  }
}

template <typename W, int... kRow>
void TileOfHeight(std::int64_t height, const Part& part, const W* weights,
                  std::integer_sequence<int, kRow...> /*rows*/) {
  using Kernel = void (*)(const Part& part, const W* weights);
  constexpr Kernel kTiles[] = {&Tile<kRow + 1, W>...};
  kTiles[height - 1](part, weights);
}

/// All rows of one panel.
template <typename W>
void AllRows(Part part, std::int64_t rows, const W* weights) {
  // Tiles of almost equal height: a tile of one or two rows would be slow.
  const std::int64_t tiles = (rows + kMostHeight - 1) / kMostHeight;
  part.ahead_step = kPanel * kStep / tiles;
  for (std::int64_t i = 0; i < tiles; ++i) {
    const std::int64_t height = (i + 1) * rows / tiles - i * rows / tiles;
    TileOfHeight(height, part, weights, std::make_integer_sequence<int, kMostHeight>());
    part.x += height * kBlock;
    part.sums += height * part.stride;
    part.row_scales += height;
    part.ahead += part.ahead_step * part.steps;
  }
}

void Multiply(const Int8Product& product) {
  const std::int64_t rows = product.rows;
  // If there are few rows, widening the weights in advance would take longer than it saves.
  const bool few = rows <= 2 * kMostHeight;
  auto* scratch = reinterpret_cast<Scratch*>(product.scratch);
  const std::int64_t whole_panels = product.columns / kPanel;
  const std::int64_t rest = product.columns % kPanel;
  const std::int64_t padded_width = (product.width + kPanel - 1) / kPanel * kPanel;

  for (std::int64_t begin = 0; begin < product.in; begin += kBlock) {
    const std::int64_t left = product.in - begin;
    const std::int64_t inputs = left < kBlock ? left : kBlock;
    const std::int64_t steps = (inputs + kStep - 1) / kStep;
    for (std::int64_t row = 0; row < rows; ++row) {
      Stage(product.x + row * product.in + begin, inputs, scratch->x + row * kBlock);
    }
    const std::int64_t panel_weights = kPanel * kStep * steps;
    Part part = {.x = scratch->x,
                 .steps = steps,
                 .is_first = begin == 0,
                 .is_last = left <= kBlock,
                 .row_scales = product.row_scales};
    const std::int8_t* weights =
        product.packed + begin * padded_width + product.begin * kStep * steps;
    for (std::int64_t panel = 0; panel * kPanel < product.columns; ++panel) {
      const bool is_whole = panel < whole_panels;
      part.sums =
          is_whole ? reinterpret_cast<std::int32_t*>(product.y + panel * kPanel) : scratch->partial;
      part.stride = is_whole ? product.columns : kPanel;
      part.scales = product.scales + product.begin + panel * kPanel;
      part.offsets = product.offsets + product.begin + panel * kPanel;
      part.ahead = weights + panel_weights;  // The next panel.
      if (few) {
        AllRows(part, rows, weights);
      } else {
        AllRows(part, rows, Widen(weights, panel_weights, scratch->weights));
      }
      weights += panel_weights;
    }
  }
  for (std::int64_t row = 0; rest > 0 && row < rows; ++row) {
    std::memcpy(product.y + row * product.columns + whole_panels * kPanel,
                scratch->partial + row * kPanel, static_cast<std::size_t>(rest) * sizeof(float));
  }
}

void Pack(const std::int8_t* rows, std::int64_t width, std::int64_t in, std::int8_t* packed) {
  for (std::int64_t begin = 0; begin < in; begin += kBlock) {
    const std::int64_t end = in < begin + kBlock ? in : begin + kBlock;
    for (std::int64_t panel = 0; panel < width; panel += kPanel) {
      for (std::int64_t step = begin; step < end; step += kStep) {
        for (std::int64_t output = panel; output < panel + kPanel; ++output) {
          for (std::int64_t i = step; i < step + kStep; ++i) {
            *packed++ = output < width && i < in ? rows[output * in + i] : std::int8_t{0};
          }
        }
      }
    }
  }
}

}  // namespace int8
}  // namespace
}  // namespace scorecast::shard::SCORECAST_KERNELS_NAMESPACE

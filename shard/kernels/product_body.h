// Matrix products with packed weights; see product_kernels.h. A part of kernels_body.h.
//
// A tile of outputs, a few rows by a few panels, is summed in registers over a block of inputs.
// The block's panels stay in the first cache while all rows pass by.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include <hwy/cache_control.h>

namespace scorecast::shard::SCORECAST_KERNELS_NAMESPACE {
namespace {
namespace product {

constexpr int kParts = kPanelOutputs / kLanes;  // Vectors of a panel.

// Shapes of tiles, by the number of vector registers: 16, but 32 with 16 lanes.
constexpr int kTileRows = kLanes >= 16 ? 12 : kLanes >= 8 ? 6 : 2;
constexpr int kTilePanels = kLanes >= 16 ? 2 : 1;
constexpr int kMostPanels = 4;
/// Panels of a tile of `rows` rows: enough sums to hide the latency of an addition.
constexpr int PanelsOf(int rows) {
  const int sums = kLanes >= 16 ? 24 : kLanes >= 8 ? 12 : 8;
  return 4 * rows * kParts <= sums ? 4 : 2 * rows * kParts <= sums ? 2 : 1;
}
/// Inputs of a block; even.
constexpr std::int64_t kBlock = 256;
/// Largest number of tiles for which weights of 16 bits are widened in registers. More tiles share
/// a block of panels that is widened once.
constexpr std::int64_t kDirectTiles = 4;
/// Rows a multiple of this many floats apart are copied, because they compete for the same lines of
/// the first cache, beside the weights: all rows of a tile if they are 4 KB apart, and every other
/// one at 2 KB, which are too many in a tile of twelve.
constexpr std::int64_t kCollidingStride = (kTileRows > 6 ? 2048 : 4096) / sizeof(float);
/// Floats between rows that are copied.
constexpr std::int64_t kStrideOfBlock = kBlock + 16;

constexpr std::int64_t kRowScratch = kMostProductRows * (256 + 16);
constexpr std::int64_t kPanelScratch = 8192;
static_assert(kStrideOfBlock * kMostProductRows <= kRowScratch);
static_assert(kTilePanels * kBlock * kPanelOutputs <= kPanelScratch);

constexpr std::int64_t kLine = 64;
constexpr std::int64_t kAhead = 2048;

/// Weights in the type in which they are in memory, read as the vector `part` of a panel for one
/// input.
struct Float32Weights {
  static constexpr std::int64_t Bytes(std::int64_t in) { return in * kPanelOutputs * 4; }
  template <int kOdd>
  static HWY_INLINE Floats At(const std::byte* pair, int part) {
    return Load(reinterpret_cast<const float*>(pair) + kOdd * kPanelOutputs + part * kLanes);
  }
};

/// The mask of a pair's second bfloat16.
HWY_INLINE Bits UpperHalves() {
  constexpr std::uint32_t kUpper = 0xFFFF0000;
  if constexpr (kLanes >= 16) {
    return hn::Set(BitTag(), kUpper);
  } else {
    // In memory, because a tile needs all registers. The compiler does not see that it is constant.
    static constexpr std::uint32_t kMask[] = {kUpper, kUpper, kUpper, kUpper,
                                              kUpper, kUpper, kUpper, kUpper};
    const std::uint32_t* mask = kMask;
    asm("" : "+r"(mask));
    return hn::LoadU(BitTag(), mask);
  }
}

struct Bfloat16Weights {
  static constexpr std::int64_t Bytes(std::int64_t in) { return (in + 1) / 2 * kPanelOutputs * 4; }
  template <int kOdd>
  static HWY_INLINE Floats At(const std::byte* pair, int part) {
    const Bits both =
        hn::LoadU(BitTag(), reinterpret_cast<const std::uint32_t*>(pair) + part * kLanes);
    if constexpr (kOdd == 0) {
      return hn::BitCast(FloatTag(), hn::ShiftLeft<16>(both));
    } else {
      return hn::BitCast(FloatTag(), hn::And(both, UpperHalves()));
    }
  }
};

struct Float16Weights {
  static constexpr std::int64_t Bytes(std::int64_t in) { return in * kPanelOutputs * 2; }
  template <int kOdd>
  static HWY_INLINE Floats At(const std::byte* pair, int part) {
    const auto* from =
        reinterpret_cast<const std::uint16_t*>(pair) + kOdd * kPanelOutputs + part * kLanes;
#ifdef __F16C__
    const hn::Rebind<hwy::float16_t, FloatTag> tag;
    return hn::PromoteTo(FloatTag(), hn::LoadU(tag, reinterpret_cast<const hwy::float16_t*>(from)));
#else
    float wide[kLanes];
    for (int i = 0; i < kLanes; ++i) {
      wide[i] = Widen(from[i]);
    }
    return Load(wide);
#endif
  }
#ifndef __F16C__
  static float Widen(std::uint16_t half) {
    constexpr std::uint32_t kExponent = 0x0F800000U;
    std::uint32_t bits = (half & 0x7FFFU) << 13U;
    float wide = 0;
    if ((bits & kExponent) == 0) {  // Zero or subnormal.
      wide = static_cast<float>(bits >> 13U) * 0x1p-24F;
    } else {
      bits += (bits & kExponent) == kExponent ? 0x70000000U : 0x38000000U;
      std::memcpy(&wide, &bits, sizeof(wide));
    }
    return (half & 0x8000U) != 0 ? -wide : wide;
  }
#endif
};

/// One tile and one block of inputs.
struct Tile {
  const float* x = nullptr;
  std::int64_t x_stride = 0;
  const std::byte* panels = nullptr;
  std::int64_t panel_bytes = 0;
  std::int64_t inputs = 0;
  float* y = nullptr;
  std::int64_t y_stride = 0;
  bool first = false;  ///< If true, the sums start at 0, otherwise at y.
  /// Weights to prefetch meanwhile: `next_step` bytes for each pair of inputs. If the tile has
  /// several panels, as many bytes for each of them, `next_bytes` apart. The addresses may lie
  /// behind the weight's end.
  const std::byte* next = nullptr;
  std::int64_t next_bytes = 0;
  std::int64_t next_step = 0;
};

/// Keeps the compiler from carrying loaded vectors from one part of a sum to the next, because it
/// would store sums to make room for them. Loading again is cheap.
HWY_INLINE void ForgetLoads() {
  if (kLanes < 16) {
    asm volatile("" ::: "memory");
  }
}

template <class Weights, int kOdd, int kRows, int kPanels>
HWY_INLINE void AddInput(const float* const (&x)[kRows], std::int64_t input,
                         const std::byte* const (&panels)[kPanels], std::int64_t offset,
                         Floats (&sums)[kRows][kPanels * kParts]) {
  // Panels whose weights are in registers at the same time.
  constexpr int kAtOnce = kLanes < 16 && kRows > 2 ? 1 : kPanels;
  constexpr int kColumns = kAtOnce * kParts;
  HWY_UNROLL(16)
  for (int first = 0; first < kPanels; first += kAtOnce) {
    if (first > 0) {
      ForgetLoads();
    }
    Floats weights[kColumns];
    HWY_UNROLL(16)
    for (int i = 0; i < kColumns; ++i) {
      weights[i] = Weights::template At<kOdd>(panels[first + i / kParts] + offset, i % kParts);
    }
    HWY_UNROLL(16)
    for (int row = 0; row < kRows; ++row) {
      const Floats one = Broadcast(x[row][input + kOdd]);
      HWY_UNROLL(16)
      for (int i = 0; i < kColumns; ++i) {
        Floats& sum = sums[row][first * kParts + i];
        sum = hn::MulAdd(one, weights[i], sum);
      }
    }
  }
}

template <class Weights, int kRows, int kPanels>
void MultiplyTile(const Tile& tile_in) {
  const Tile tile = tile_in;
  constexpr int kColumns = kPanels * kParts;
  Floats sums[kRows][kColumns];
  const float* x[kRows];
  const std::byte* panels[kPanels];
  HWY_UNROLL(16)
  for (int row = 0; row < kRows; ++row) {
    x[row] = tile.x + row * tile.x_stride;
    HWY_UNROLL(16)
    for (int i = 0; i < kColumns; ++i) {
      sums[row][i] = tile.first ? Zero() : Load(tile.y + row * tile.y_stride + i * kLanes);
    }
  }
  HWY_UNROLL(16)
  for (int panel = 0; panel < kPanels; ++panel) {
    panels[panel] = tile.panels + panel * tile.panel_bytes;
  }
  std::int64_t input = 0;
  const std::byte* next = tile.next;
  for (; input + 2 <= tile.inputs; input += 2, next += tile.next_step) {
    HWY_UNROLL(16)
    for (int panel = 0; panel < kPanels; ++panel) {
      hwy::Prefetch(next + panel * tile.next_bytes);
      if constexpr (Weights::Bytes(2) > kLine) {
        hwy::Prefetch(next + panel * tile.next_bytes + kLine);
      }
    }
    AddInput<Weights, 0>(x, input, panels, Weights::Bytes(input), sums);
    ForgetLoads();
    AddInput<Weights, 1>(x, input, panels, Weights::Bytes(input), sums);
  }
  if (input < tile.inputs) {
    AddInput<Weights, 0>(x, input, panels, Weights::Bytes(input), sums);
  }
  HWY_UNROLL(16)
  for (int row = 0; row < kRows; ++row) {
    HWY_UNROLL(16)
    for (int i = 0; i < kColumns; ++i) {
      Store(sums[row][i], tile.y + row * tile.y_stride + i * kLanes);
    }
  }
}

using TileKernel = void (*)(const Tile& tile);

/// Kernels of tiles of kRows rows and 1, 2 or 4 panels. Null if a tile of kRows rows never has this
/// many panels.
template <class Weights, int kRows>
struct TilesOfRows {
  static constexpr TileKernel Of(int log) {
    constexpr int kMost = PanelsOf(kRows);
    if (log == 0) {
      return &MultiplyTile<Weights, kRows, 1>;
    }
    if constexpr (kMost >= 2) {
      if (log == 1) {
        return &MultiplyTile<Weights, kRows, 2>;
      }
    }
    if constexpr (kMost >= 4) {
      if (log == 2) {
        return &MultiplyTile<Weights, kRows, 4>;
      }
    }
    return nullptr;
  }
};

template <class Weights>
struct Tiles {
  TileKernel of[kTileRows][3];
};

template <class Weights, int... kRow>
constexpr Tiles<Weights> MakeTiles(std::integer_sequence<int, kRow...> /*rows*/) {
  return {{{TilesOfRows<Weights, kRow + 1>::Of(0), TilesOfRows<Weights, kRow + 1>::Of(1),
            TilesOfRows<Weights, kRow + 1>::Of(2)}...}};
}

template <class Weights>
constexpr Tiles<Weights> kTiles = MakeTiles<Weights>(std::make_integer_sequence<int, kTileRows>());

/// Copies `n` elements of each row as float32.
void CopyRows(const PanelProduct& product, std::int64_t begin, std::int64_t n, std::int64_t stride,
              float* out) {
  for (std::int64_t row = 0; row < product.rows; ++row, out += stride) {
    if (!product.x_is_bf16) {
      std::memcpy(out, reinterpret_cast<const float*>(product.x) + row * product.in + begin,
                  static_cast<std::size_t>(n) * sizeof(float));
      continue;
    }
    const auto* from = reinterpret_cast<const std::uint16_t*>(product.x) + row * product.in + begin;
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      Store(Widen(from + i), out + i);
    }
    for (; i < n; ++i) {
      const std::uint32_t bits = std::uint32_t{from[i]} << 16U;
      std::memcpy(out + i, &bits, sizeof(bits));
    }
  }
}

/// Widens `inputs` inputs of one panel: [inputs][kPanelOutputs].
template <class Weights>
void WidenPanel(const std::byte* panel, std::int64_t inputs, float* out) {
  for (std::int64_t input = 0; input < inputs; input += 2, out += 2 * kPanelOutputs) {
    const std::byte* pair = panel + Weights::Bytes(input);
    for (int part = 0; part < kParts; ++part) {
      Store(Weights::template At<0>(pair, part), out + part * kLanes);
      if (input + 1 < inputs) {
        Store(Weights::template At<1>(pair, part), out + kPanelOutputs + part * kLanes);
      }
    }
  }
}

/// The part of a product that the inputs of one block add.
struct Block {
  const float* x = nullptr;
  std::int64_t x_stride = 0;
  std::int64_t begin = 0;
  std::int64_t inputs = 0;
};

/// Multiplies one tile's panels for all rows.
template <class Weights>
void MultiplyRows(Tile tile, std::int64_t rows, int log_panels) {
  // Tiles of equal or almost equal height, because a tile of one or two rows would be slow.
  const std::int64_t count = (rows + kTileRows - 1) / kTileRows;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t height = (i + 1) * rows / count - i * rows / count;
    kTiles<Weights>.of[height - 1][log_panels](tile);
    tile.x += height * tile.x_stride;
    tile.y += height * tile.y_stride;
    tile.next += tile.next_step * (tile.inputs / 2);
  }
}

template <class Weights>
void Multiply(const PanelProduct& product) {
  constexpr bool kIsWide = std::is_same_v<Weights, Float32Weights>;
  const std::int64_t rows = product.rows;
  // A few rows make one tile. It has more panels at once, and its weights are widened in registers.
  const bool few = rows <= kTileRows;
  const int most_panels = few ? PanelsOf(static_cast<int>(rows)) : kTilePanels;
  const bool copies = product.x_is_bf16 || (!few && product.in % kCollidingStride == 0);
  float* wide_panels = product.scratch + kRowScratch;
  float* edge = wide_panels + kPanelScratch;
  const std::int64_t whole_panels = product.columns / kPanelOutputs;
  const std::int64_t rest = product.columns % kPanelOutputs;

  const std::int64_t block_inputs = !few     ? kBlock
                                    : copies ? kRowScratch / rows / 32 * 32
                                             : product.in;
  for (std::int64_t begin = 0; begin < product.in; begin += block_inputs) {
    const std::int64_t left = product.in - begin;
    Tile tile = {.x = product.scratch,
                 .x_stride = few ? block_inputs : kStrideOfBlock,
                 .inputs = left < block_inputs ? left : block_inputs,
                 .first = begin == 0};
    if (copies) {
      CopyRows(product, begin, tile.inputs, tile.x_stride, product.scratch);
    } else {
      tile.x = reinterpret_cast<const float*>(product.x) + begin;
      tile.x_stride = product.in;
    }
    int panels = 0;
    for (std::int64_t panel = 0; panel * kPanelOutputs < product.columns; panel += panels) {
      const bool is_edge = panel == whole_panels;
      int log = is_edge ? 0 : most_panels / 2;
      while (!is_edge && panel + (1 << log) > whole_panels) {
        --log;
      }
      panels = 1 << log;
      tile.panels = product.panels + panel * product.panel_bytes + Weights::Bytes(begin);
      tile.panel_bytes = product.panel_bytes;
      tile.y = is_edge ? edge : product.y + panel * kPanelOutputs;
      tile.y_stride = is_edge ? kPanelOutputs : product.columns;
      const std::int64_t pairs = tile.inputs / 2;
      tile.next_bytes = tile.panel_bytes;
      if (few) {
        tile.next = tile.panels + kAhead;
        tile.next_step = Weights::Bytes(2);
      } else {
        const bool is_last = (panel + panels) * kPanelOutputs >= product.columns;
        tile.next = is_last ? product.panels + Weights::Bytes(begin + tile.inputs)
                            : tile.panels + panels * tile.panel_bytes;
        const std::int64_t tiles = (rows + kTileRows - 1) / kTileRows;
        tile.next_step = pairs == 0 ? 0 : Weights::Bytes(tile.inputs) / (tiles * pairs) + 1;
      }
      if (few || kIsWide || rows <= kDirectTiles * kTileRows) {
        MultiplyRows<Weights>(tile, rows, log);
        continue;
      }
      for (int i = 0; i < panels; ++i) {
        WidenPanel<Weights>(tile.panels + i * tile.panel_bytes, tile.inputs,
                            wide_panels + i * kBlock * kPanelOutputs);
      }
      tile.panels = reinterpret_cast<const std::byte*>(wide_panels);
      tile.panel_bytes = Float32Weights::Bytes(kBlock);
      MultiplyRows<Float32Weights>(tile, rows, log);
    }
  }
  for (std::int64_t row = 0; rest > 0 && row < rows; ++row) {
    std::memcpy(product.y + row * product.columns + whole_panels * kPanelOutputs,
                edge + row * kPanelOutputs, static_cast<std::size_t>(rest) * sizeof(float));
  }
}

}  // namespace product

constexpr ProductKernels MakeProducts() {
  return {&product::Multiply<product::Float32Weights>, &product::Multiply<product::Bfloat16Weights>,
          &product::Multiply<product::Float16Weights>};
}

}  // namespace
}  // namespace scorecast::shard::SCORECAST_KERNELS_NAMESPACE

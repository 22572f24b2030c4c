// The one body of the attention kernel. Only kernels_body.h includes it, hence no `#pragma once`.

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace scorecast::shard::SCORECAST_KERNELS_NAMESPACE {
namespace {
namespace wide {

static_assert(kKeyLanes == kLanes);
constexpr int kVectorLanes = kKeyLanes;  // As an int, for comparisons with lane numbers.

// Rows that are held in registers at once, and vectors of sums for each row. Which rows and columns
// are computed together does not change a bit: each sum runs over the depth alone.
#if defined(__AVX512F__)
constexpr int kRowsAtOnce = 6;
constexpr int kVectorsAtOnce = 4;
#elif defined(__AVX2__)
constexpr int kRowsAtOnce = 6;
constexpr int kVectorsAtOnce = 1;
#else
constexpr int kRowsAtOnce = 3;
constexpr int kVectorsAtOnce = 1;
#endif

/// Elements that are multiplied one at a time.
struct Float32 {
  using T = float;
  using Operand = Floats;
  static constexpr int kPair = 1;
  static Operand Spread(const T* p) { return Broadcast(*p); }
  static Operand LoadPairs(const T* p) { return Load(p); }
  static Floats MultiplyAdd(Operand a, Operand b, Floats sum) { return sum + a * b; }
  static void StoreVector(Floats x, T* p) { Store(x, p); }
  static T FromFloat(float x) { return x; }
  /// Stores the first n lanes, kPair elements apart.
  static void StoreStrided(Floats x, std::int64_t n, T* p) { StorePart(x, n, p); }
};

/// Elements that are multiplied in pairs, as VDPBF16PS does.
struct Bfloat16 {
  using T = std::uint16_t;
  static constexpr int kPair = 2;
#ifdef __AVX512BF16__
  using Operand = __m512bh;
  static Operand Spread(const T* p) {
    std::int32_t pair;
    std::memcpy(&pair, p, sizeof(pair));
    return std::bit_cast<__m512bh>(_mm512_set1_epi32(pair));
  }
  static Operand LoadPairs(const T* p) { return std::bit_cast<__m512bh>(_mm512_loadu_si512(p)); }
  static Floats MultiplyAdd(Operand a, Operand b, Floats sum) {
    return std::bit_cast<Floats>(_mm512_dpbf16_ps(std::bit_cast<__m512>(sum), a, b));
  }
#else
  struct Operand {
    Floats first;
    Floats second;
  };
  static Operand Split(Ints pairs) {
    return {std::bit_cast<Floats>(pairs << 16),
            std::bit_cast<Floats>(pairs & static_cast<std::int32_t>(0xFFFF0000))};
  }
  static Operand Spread(const T* p) {
    std::int32_t pair;
    std::memcpy(&pair, p, sizeof(pair));
    return Split(pair - Ints{});
  }
  static Operand LoadPairs(const T* p) {
    Ints pairs;
    std::memcpy(&pairs, p, sizeof(pairs));
    return Split(pairs);
  }
  static Floats MultiplyAdd(const Operand& a, const Operand& b, Floats sum) {
    return (sum + a.second * b.second) + a.first * b.first;
  }
#endif
  static void StoreVector(Floats x, T* p) { StoreRounded(x, p); }
  static T FromFloat(float x) { return static_cast<T>(Round(Broadcast(x))[0]); }
  static void StoreStrided(Floats x, std::int64_t n, T* p) {
    const Ints rounded = Round(x);
#ifdef __AVX512BW__
    // The other element of each pair belongs to another row, which another thread may be writing.
    const __mmask32 even = 0x55555555U >> static_cast<unsigned>(32 - 2 * n);
    _mm512_mask_storeu_epi16(p, even, std::bit_cast<__m512i>(rounded));
#else
    for (std::int64_t i = 0; i < n; ++i) {
      p[i * kPair] = static_cast<T>(rounded[i]);
    }
#endif
  }
};

/// A matrix stored in pairs along its depth. Vectors of 16 columns are `vector_stride` elements
/// apart. The next pair of a vector is `depth_stride` elements further.
template <typename E>
struct Panel {
  const typename E::T* data;
  std::int64_t vector_stride;
  std::int64_t depth_stride;
};

/// sum[r][c] += Σ a[r][k] · b[k][c] over `pairs` pairs of k.
template <typename E, int rows, int vectors>
inline void MultiplyPanel(const typename E::T* a, std::int64_t a_stride, const Panel<E>& b,
                          std::int64_t pairs, Floats (&sum)[rows][vectors]) {
  for (std::int64_t k = 0; k < pairs; ++k) {
    typename E::Operand column[vectors];
#pragma GCC unroll 8
    for (int c = 0; c < vectors; ++c) {
      column[c] = E::LoadPairs(b.data + c * b.vector_stride + k * b.depth_stride);
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
      const typename E::Operand row = E::Spread(a + r * a_stride + k * E::kPair);
#pragma GCC unroll 8
      for (int c = 0; c < vectors; ++c) {
        sum[r][c] = E::MultiplyAdd(row, column[c], sum[r][c]);
      }
    }
  }
}

/// Calls block.template operator()<rows, vectors>(first_row, first_vector) for blocks that cover
/// [0, rows) x [0, vectors).
template <int rows_at_once, typename Block>
inline void ForVectors(std::int64_t row, std::int64_t vectors, const Block& block) {
  std::int64_t v = 0;
  for (; v + kVectorsAtOnce <= vectors; v += kVectorsAtOnce) {
    block.template operator()<rows_at_once, kVectorsAtOnce>(row, v);
  }
  if constexpr (kVectorsAtOnce > 2) {
    for (; v + 2 <= vectors; v += 2) {
      block.template operator()<rows_at_once, 2>(row, v);
    }
  }
  for (; v < vectors; ++v) {
    block.template operator()<rows_at_once, 1>(row, v);
  }
}

template <typename Block>
inline void ForBlocks(std::int64_t rows, std::int64_t vectors, const Block& block) {
  std::int64_t row = 0;
  for (; row + kRowsAtOnce <= rows; row += kRowsAtOnce) {
    ForVectors<kRowsAtOnce>(row, vectors, block);
  }
  if constexpr (kRowsAtOnce > 3) {
    for (; row + 3 <= rows; row += 3) {
      ForVectors<3>(row, vectors, block);
    }
  }
  for (; row < rows; ++row) {
    ForVectors<1>(row, vectors, block);
  }
}

/// Turns a row's scores into weights relative to the new maximum, and rescales the row's sums to
/// that maximum. Returns the factor for the weighted values so far: exactly 1 if the row sees
/// nothing here. The scores of hidden keys are kNoScore; they get the weight 0.
template <typename E, bool has_hidden>
inline float Weigh(const float* scores, int vectors, int hidden, int visible, float* state,
                   typename E::T* weights) {
  const Ints lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const auto without_hidden = [&](Floats weight, int v) {
    return has_hidden ? (lane < hidden - v * kVectorLanes ? Floats{} : weight) : weight;
  };
  const int whole = visible / kVectorLanes;
  Floats best = Broadcast(state[0]);
  for (int v = 0; v < whole; ++v) {
    // This comparison may drop a NaN; the weight computed below keeps it.
    const Floats score = Load(scores + v * kLanes);
    best = score > best ? score : best;
  }
  Floats last = {};  // The scores of the vector that is only partly visible.
  if (whole < vectors) {
    last =
        lane < visible - whole * kVectorLanes ? Load(scores + whole * kLanes) : Broadcast(kNoScore);
    best = last > best ? last : best;
  }
  const float maximum = Max(best);
  float factor = 1;
  if (maximum != state[0]) {
    factor = Exp(Broadcast(state[0] - maximum))[0];
    state[0] = maximum;
  }
  Floats sum = Load(state + 1) * factor;
  Floats nothing = {};
  for (int v = 0; v < whole; ++v) {
    const Floats score = Load(scores + v * kLanes);
    const Floats weight = without_hidden(Exp(score - maximum), v);
    nothing += ZeroIfFinite(score);
    E::StoreVector(weight, weights + v * kLanes);
    sum += weight;
  }
  for (int v = whole; v < vectors; ++v) {
    const Ints seen = lane < visible - v * kVectorLanes;
    const Floats weight =
        without_hidden(seen != 0 ? Exp(last - maximum) + ZeroIfFinite(last) : Floats{}, v);
    E::StoreVector(weight, weights + v * kLanes);
    sum += weight;
  }
  Store(sum + nothing, state + 1);
  return factor;
}

/// Number of rows whose scores are held at once.
constexpr std::int64_t kRowBlock = 24;

template <typename E>
void AttendRows(const AttentionTile& tile, std::int64_t first, std::int64_t rows) {
  using T = typename E::T;
  const int* visible = tile.visible + first;
  const int keys = *std::max_element(visible, visible + rows);
  if (keys == 0) {
    return;
  }
  const int vectors = (keys + kLanes - 1) / kLanes;
  const T* queries = reinterpret_cast<const T*>(tile.queries) + first * tile.head_dim;
  const Panel<E> key_panel = {reinterpret_cast<const T*>(tile.keys), tile.head_dim * kLanes,
                              kLanes * E::kPair};
  float scores[kRowBlock][kTileKeys];
  ForBlocks(rows, vectors, [&]<int r, int v>(std::int64_t row, std::int64_t vector) {
    Floats sum[r][v] = {};
    MultiplyPanel<E>(queries + row * tile.head_dim, tile.head_dim,
                     Panel<E>{key_panel.data + vector * key_panel.vector_stride,
                              key_panel.vector_stride, key_panel.depth_stride},
                     tile.head_dim / E::kPair, sum);
    for (int i = 0; i < r; ++i) {
      for (int j = 0; j < v; ++j) {
        Store(sum[i][j], scores[row + i] + (vector + j) * kLanes);
      }
    }
  });

  if (tile.softcap != 0) {
    for (std::int64_t r = 0; r < rows; ++r) {
      for (int v = 0; v < vectors; ++v) {
        float* vector = scores[r] + v * kLanes;
        Store(CapTimesTanh(tile.softcap, Load(vector)), vector);
      }
    }
  }

  T weights[kRowBlock][kTileKeys];
  float factors[kRowBlock];
  int first_key = 0;
  if (tile.hidden == nullptr) {
    for (std::int64_t r = 0; r < rows; ++r) {
      factors[r] = Weigh<E, false>(scores[r], vectors, 0, visible[r],
                                   tile.states + kRowState * (first + r), weights[r]);
    }
  } else {
    first_key = keys;
    for (std::int64_t r = 0; r < rows; ++r) {
      const int hidden = tile.hidden[first + r];
      std::fill_n(scores[r], hidden, kNoScore);  // It changes no maximum.
      factors[r] = Weigh<E, true>(scores[r], vectors, hidden, visible[r],
                                  tile.states + kRowState * (first + r), weights[r]);
      if (visible[r] > 0) {
        first_key = std::min(first_key, hidden);
      }
    }
    first_key -= first_key % E::kPair;
  }

  // Values in front of the first key that any of the rows sees are not read, nor are those behind
  // the last one.
  const T* values = reinterpret_cast<const T*>(tile.values) + first_key * tile.value_stride;
  float* outputs = tile.outputs + first * tile.value_stride;
  ForBlocks(rows, tile.value_stride / kLanes,
            [&]<int r, int v>(std::int64_t row, std::int64_t vector) {
              Floats sum[r][v];
              float* output = outputs + row * tile.value_stride + vector * kLanes;
              for (int i = 0; i < r; ++i) {
                for (int j = 0; j < v; ++j) {
                  sum[i][j] = Load(output + i * tile.value_stride + j * kLanes) * factors[row + i];
                }
              }
              MultiplyPanel<E>(weights[row] + first_key, kTileKeys,
                               Panel<E>{values + vector * kLanes * E::kPair, kLanes * E::kPair,
                                        tile.value_stride * E::kPair},
                               (keys - first_key + E::kPair - 1) / E::kPair, sum);
              for (int i = 0; i < r; ++i) {
                for (int j = 0; j < v; ++j) {
                  Store(sum[i][j], output + i * tile.value_stride + j * kLanes);
                }
              }
            });
}

template <typename E>
void Attend(const AttentionTile& tile) {
  for (std::int64_t first = 0; first < tile.rows; first += kRowBlock) {
    AttendRows<E>(tile, first, std::min(kRowBlock, tile.rows - first));
  }
}

template <typename E>
void StoreQuery(const float* x, float factor, std::int64_t n, std::byte* out) {
  auto* to = reinterpret_cast<typename E::T*>(out);
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    E::StoreVector(Load(x + i) * factor, to + i);
  }
  for (; i < n; ++i) {
    to[i] = E::FromFloat(x[i] * factor);
  }
}

template <typename E>
void StoreKey(const float* key, std::int64_t n, std::int64_t row, std::byte* group) {
  auto* to = reinterpret_cast<typename E::T*>(group) + row % kLanes * E::kPair;
  typename E::T part[kLanes];
  for (std::int64_t i = 0; i < n; i += kLanes) {
    const std::int64_t count = std::min(kLanes, n - i);
    E::StoreVector(LoadPart(key + i, count), part);
    for (std::int64_t j = 0; j < count; j += E::kPair) {
      std::memcpy(to + (i + j) * kLanes, part + j, sizeof(typename E::T) * E::kPair);
    }
  }
}

template <typename E>
void StoreValue(const float* value, std::int64_t n, std::int64_t row, std::int64_t value_stride,
                std::byte* values) {
  auto* to = reinterpret_cast<typename E::T*>(values) + row / E::kPair * value_stride * E::kPair +
             row % E::kPair;
  for (std::int64_t i = 0; i < n; i += kLanes) {
    E::StoreStrided(LoadPart(value + i, std::min(kLanes, n - i)), std::min(kLanes, n - i),
                    to + i * E::kPair);
  }
}

template <typename E>
constexpr AttentionKernels MakeAttention() {
  return {sizeof(typename E::T), &StoreQuery<E>, &StoreKey<E>, &StoreValue<E>, &Attend<E>};
}

}  // namespace wide
}  // namespace
}  // namespace scorecast::shard::SCORECAST_KERNELS_NAMESPACE

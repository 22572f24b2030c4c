// The kernels' one body, in GCC's and clang's vectors of 16 floats, which the compiler maps to
// whatever the instruction set has. Included once by each kernels_*.cc, which sets
// SCORECAST_KERNELS_NAMESPACE. Not to be included elsewhere, hence no `#pragma once`.

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "shard/kernels/kernels.h"

namespace scorecast::shard::SCORECAST_KERNELS_NAMESPACE {
namespace {

constexpr std::int64_t kLanes = 16;
using Floats = float __attribute__((vector_size(kLanes * sizeof(float))));
using Ints = std::int32_t __attribute__((vector_size(kLanes * sizeof(float))));

inline Floats Load(const float* p) {
  Floats v;
  std::memcpy(&v, p, sizeof(v));
  return v;
}

inline void Store(Floats v, float* p) { std::memcpy(p, &v, sizeof(v)); }

/// The first n < 16 floats, zeros behind them.
inline Floats LoadPart(const float* p, std::int64_t n) {
  Floats v = {};
  std::memcpy(&v, p, static_cast<std::size_t>(n) * sizeof(float));
  return v;
}

inline void StorePart(Floats v, std::int64_t n, float* p) {
  std::memcpy(p, &v, static_cast<std::size_t>(n) * sizeof(float));
}

inline Floats Broadcast(float x) { return x - Floats{}; }

/// A fixed tree, so that the sum's bits do not depend on what the compiler makes of it.
inline float Sum(Floats v) {
  float part[kLanes];
  std::memcpy(part, &v, sizeof(v));
  for (std::int64_t width = kLanes / 2; width > 0; width /= 2) {
    for (std::int64_t i = 0; i < width; ++i) {
      part[i] += part[i + width];
    }
  }
  return part[0];
}

/// 0, or a NaN for what is not finite: with it added, exp(-∞) cannot pass for 0.
inline Floats ZeroIfFinite(Floats v) { return v * 0.0F; }

inline float Max(Floats v) {
  float maximum = v[0];
  for (std::int64_t i = 1; i < kLanes; ++i) {
    maximum = v[i] > maximum ? v[i] : maximum;
  }
  return maximum;
}

/// exp(x) to about one unit in the last place, after Cephes' expf: x = n·ln 2 + r, a polynomial in
/// r, and n added to the exponent. Exactly 1 at 0; a NaN stays one; below -87 it is about 1e-38,
/// and above 88 about 1e38.
inline Floats Exp(Floats x) {
  const Floats low = Broadcast(-87.0F);
  const Floats high = Broadcast(88.0F);
  x = x < low ? low : x;
  x = x > high ? high : x;
  // Adding 1.5 · 2²³ rounds to an integer and leaves it in the low bits.
  const Floats magic = Broadcast(12582912.0F);
  const Floats shifted = x * 1.44269504088896341F + magic;
  const Floats n = shifted - magic;
  const Floats r = (x - n * 0.693359375F) + n * 2.12194440e-4F;
  Floats p = Broadcast(1.9875691500e-4F);
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * (r * r) + r + 1.0F;
  const Ints exponent = (std::bit_cast<Ints>(shifted) + 127) << 23;
  return p * std::bit_cast<Floats>(exponent);
}

void RmsNorm(const float* x, const float* weight, std::int64_t n, float eps, float* out) {
  Floats squares = {};
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const Floats v = Load(x + i);
    squares += v * v;
  }
  if (i < n) {
    const Floats v = LoadPart(x + i, n - i);
    squares += v * v;
  }
  const float scale = 1.0F / std::sqrt(Sum(squares) / static_cast<float>(n) + eps);
  for (i = 0; i + kLanes <= n; i += kLanes) {
    Store(Load(x + i) * scale * Load(weight + i), out + i);
  }
  if (i < n) {
    StorePart(LoadPart(x + i, n - i) * scale * LoadPart(weight + i, n - i), n - i, out + i);
  }
}

void Add(const float* x, std::int64_t n, float* sum) {
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    Store(Load(sum + i) + Load(x + i), sum + i);
  }
  if (i < n) {
    StorePart(LoadPart(sum + i, n - i) + LoadPart(x + i, n - i), n - i, sum + i);
  }
}

inline Floats SiluTimes(Floats gate, Floats up) { return gate / (1.0F + Exp(-gate)) * up; }

void SwiGlu(const float* gate, const float* up, std::int64_t n, float* out) {
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    Store(SiluTimes(Load(gate + i), Load(up + i)), out + i);
  }
  if (i < n) {
    StorePart(SiluTimes(LoadPart(gate + i, n - i), LoadPart(up + i, n - i)), n - i, out + i);
  }
}

void Rope(const float* cosine, const float* sine, std::int64_t head_dim, float* head) {
  const std::int64_t half = head_dim / 2;
  float* low = head;
  float* high = head + half;
  std::int64_t i = 0;
  for (; i + kLanes <= half; i += kLanes) {
    const Floats a = Load(low + i);
    const Floats b = Load(high + i);
    const Floats c = Load(cosine + i);
    const Floats s = Load(sine + i);
    Store(a * c - b * s, low + i);
    Store(b * c + a * s, high + i);
  }
  if (i < half) {
    const Floats a = LoadPart(low + i, half - i);
    const Floats b = LoadPart(high + i, half - i);
    const Floats c = LoadPart(cosine + i, half - i);
    const Floats s = LoadPart(sine + i, half - i);
    StorePart(a * c - b * s, half - i, low + i);
    StorePart(b * c + a * s, half - i, high + i);
  }
}

void Scale(const float* x, std::int64_t n, float factor, float* out) {
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    Store(Load(x + i) * factor, out + i);
  }
  if (i < n) {
    StorePart(LoadPart(x + i, n - i) * factor, n - i, out + i);
  }
}

float Dot(const float* a, const float* b, std::int64_t n) {
  Floats sum = {};
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    sum += Load(a + i) * Load(b + i);
  }
  if (i < n) {
    sum += LoadPart(a + i, n - i) * LoadPart(b + i, n - i);
  }
  return Sum(sum);
}

void MaxAndSumExp(const float* x, std::int64_t n, float* maximum, double* sum_exp) {
  Floats best = Broadcast(kNoScore);
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const Floats v = Load(x + i);
    best = v > best ? v : best;
  }
  float top = Max(best);
  for (; i < n; ++i) {
    top = x[i] > top ? x[i] : top;
  }
  // A float32 sum of a whole vocabulary would lose digits: sums of 1024 go into a float64.
  constexpr std::int64_t kRun = 1024;
  double total = 0;
  for (i = 0; i < n; i += kRun) {
    const std::int64_t end = i + kRun < n ? i + kRun : n;
    Floats sum = {};
    std::int64_t j = i;
    for (; j + kLanes <= end; j += kLanes) {
      const Floats v = Load(x + j);
      sum += Exp(v - top) + ZeroIfFinite(v);
    }
    if (j < end) {
      const Floats v = LoadPart(x + j, end - j);
      Floats last = Exp(v - top) + ZeroIfFinite(v);
      for (std::int64_t lane = end - j; lane < kLanes; ++lane) {
        last[lane] = 0;
      }
      sum += last;
    }
    total += static_cast<double>(Sum(sum));
  }
  *maximum = top;
  *sum_exp = total;
}

constexpr int kGroups = kTileKeys / kKeyLanes;
static_assert(kKeyLanes == kLanes);

/// q·k of kTileRows rows and one group of 16 keys.
inline void Scores(const AttentionTile& tile, const float* keys, Floats* scores) {
  Floats sum[kTileRows] = {};
  for (std::int64_t d = 0; d < tile.head_dim; ++d) {
    const Floats key = Load(keys + d * kKeyLanes);
    for (int r = 0; r < kTileRows; ++r) {
      sum[r] += tile.query[static_cast<std::size_t>(r)][d] * key;
    }
  }
  for (int r = 0; r < kTileRows; ++r) {
    scores[r] = sum[r];
  }
}

/// Turns a row's scores into weights relative to the new maximum, and brings what was summed before
/// to it. Returns the factor for the weighted values so far; exactly 1 when the row sees nothing.
inline float Weigh(Floats (&scores)[kGroups], int visible, float* state, float* weights) {
  const Ints lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  Floats best = Broadcast(state[0]);
  for (int g = 0; g < kGroups; ++g) {
    const Ints seen = lane < visible - g * kKeyLanes;
    // The comparison drops a NaN here; its weight below keeps it.
    best = (seen & (scores[g] > best)) != 0 ? scores[g] : best;
  }
  const float maximum = Max(best);
  Floats sum = {};
  for (int g = 0; g < kGroups; ++g) {
    const Ints seen = lane < visible - g * kKeyLanes;
    const Floats weight = seen != 0 ? Exp(scores[g] - maximum) + ZeroIfFinite(scores[g]) : Floats{};
    Store(weight, weights + g * kKeyLanes);
    sum += weight;
  }
  const float factor = Exp(Broadcast(state[0] - maximum))[0];
  state[0] = maximum;
  state[1] = state[1] * factor + Sum(sum);
  return factor;
}

/// output[r] = output[r] · factor[r] + Σ weights[r][key] · values[key] over the keys that row r
/// sees, for `columns` (1 … 4) vectors from `first` on. All rows see the first `common` keys, some
/// see more, up to `keys`; a value that a row does not see might be a NaN, which no weight of 0
/// would hide.
template <int columns>
inline void AddValues(const AttentionTile& tile, std::int64_t first, int common, int keys,
                      const float* factor, const float (*weights)[kTileKeys]) {
  Floats sum[kTileRows][columns];
  for (int r = 0; r < kTileRows; ++r) {
    for (int c = 0; c < columns; ++c) {
      sum[r][c] = Load(tile.output[static_cast<std::size_t>(r)] + first + c * kLanes) * factor[r];
    }
  }
  const float* value = tile.values + first;
  for (int key = 0; key < common; ++key, value += tile.value_stride) {
    for (int c = 0; c < columns; ++c) {
      const Floats v = Load(value + c * kLanes);
      for (int r = 0; r < kTileRows; ++r) {
        sum[r][c] += weights[r][key] * v;
      }
    }
  }
  for (int key = common; key < keys; ++key, value += tile.value_stride) {
    for (int r = 0; r < kTileRows; ++r) {
      if (key < tile.visible[static_cast<std::size_t>(r)]) {
        for (int c = 0; c < columns; ++c) {
          sum[r][c] += weights[r][key] * Load(value + c * kLanes);
        }
      }
    }
  }
  for (int r = 0; r < kTileRows; ++r) {
    for (int c = 0; c < columns; ++c) {
      Store(sum[r][c], tile.output[static_cast<std::size_t>(r)] + first + c * kLanes);
    }
  }
}

void AttendTile(const AttentionTile& tile) {
  int common = kTileKeys;
  int keys = 0;
  for (const int visible : tile.visible) {
    common = visible < common ? visible : common;
    keys = visible > keys ? visible : keys;
  }
  Floats scores[kTileRows][kGroups] = {};
  for (int g = 0; g * kKeyLanes < keys; ++g) {
    Floats group[kTileRows];
    Scores(tile, tile.keys + g * tile.head_dim * kKeyLanes, group);
    for (int r = 0; r < kTileRows; ++r) {
      scores[r][g] = group[r];
    }
  }
  float weights[kTileRows][kTileKeys];
  float factor[kTileRows];
  for (int r = 0; r < kTileRows; ++r) {
    const auto row = static_cast<std::size_t>(r);
    factor[r] = Weigh(scores[r], tile.visible[row], tile.state[row], weights[r]);
  }
  std::int64_t first = 0;
  for (; first + 4 * kLanes <= tile.value_stride; first += 4 * kLanes) {
    AddValues<4>(tile, first, common, keys, factor, weights);
  }
  for (; first < tile.value_stride; first += kLanes) {
    AddValues<1>(tile, first, common, keys, factor, weights);
  }
}

}  // namespace

constexpr Kernels MakeKernels(InstructionSet set) {
  return {set, &RmsNorm, &Add, &SwiGlu, &Rope, &Scale, &Dot, &MaxAndSumExp, &AttendTile};
}

}  // namespace scorecast::shard::SCORECAST_KERNELS_NAMESPACE

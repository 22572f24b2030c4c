// The one body of the attention kernel. Only kernels_body.h includes it, hence no `#pragma once`.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <hwy/cache_control.h>

namespace scorecast::shard::SCORECAST_KERNELS_NAMESPACE {
namespace {

/// Number of keys stored side by side, which is also the number of elements of a value in a group,
/// and the vectors that hold them.
constexpr int kGroup = kKeyLanes;
constexpr int kGroupVectors = kGroup / kLanes;
static_assert(kGroup % kLanes == 0);

// Rows whose sums are held in registers at once, and groups of columns for a number of rows. Which
// rows and columns are computed together does not change a bit: each sum runs over the depth alone.
#if HWY_MAX_BYTES == 64
constexpr int kRowsAtOnce = 6;
constexpr int GroupsAtOnce(int /*rows*/) { return 4; }
#elif HWY_MAX_BYTES == 32
constexpr int kRowsAtOnce = 6;
constexpr int GroupsAtOnce(int rows) { return rows > 3 ? 1 : rows > 1 ? 2 : 4; }
#else
constexpr int kRowsAtOnce = 3;
constexpr int GroupsAtOnce(int rows) { return rows > 1 ? 1 : 2; }
#endif

/// Elements that are multiplied one at a time.
struct Float32 {
  using T = float;
  using Factor = float;  // An element of a query, or a weight.
  using Operand = Floats;
  static constexpr int kPair = 1;
  static constexpr int kSteps = 1;  // Steps in which the elements of a pair are multiplied.
  template <int step>
  static Operand Spread(const Factor* p) {
    return Broadcast(*p);
  }
  template <int step>
  static Operand LoadColumns(const T* p) {
    return Load(p);
  }
  static Floats MultiplyAdd(Operand a, Operand b, Floats sum) { return hn::MulAdd(a, b, sum); }
  static void StoreFactor(Floats x, Factor* p) { Store(x, p); }
  static void StoreVector(Floats x, T* p) { Store(x, p); }
};

#ifdef __AVX512BF16__
/// Elements that are multiplied in pairs.
struct Bfloat16 {
  using T = std::uint16_t;
  using Factor = std::uint16_t;
  using Operand = __m512bh;
  static constexpr int kPair = 2;
  static constexpr int kSteps = 1;
  template <int step>
  static Operand Spread(const Factor* p) {
    std::int32_t pair;
    std::memcpy(&pair, p, sizeof(pair));
    return reinterpret_cast<__m512bh>(_mm512_set1_epi32(pair));
  }
  template <int step>
  static Operand LoadColumns(const T* p) {
    return reinterpret_cast<__m512bh>(_mm512_loadu_si512(p));
  }
  static Floats MultiplyAdd(Operand a, Operand b, Floats sum) {
    return Floats{_mm512_dpbf16_ps(sum.raw, a, b)};
  }
  static void StoreFactor(Floats x, Factor* p) { StoreRounded(x, p); }
  static void StoreVector(Floats x, T* p) { StoreRounded(x, p); }
};
#else
/// Elements that are stored in pairs, and widened to float32 when they are multiplied.
struct Bfloat16 {
  using T = std::uint16_t;
  using Factor = float;
  using Operand = Floats;
  static constexpr int kPair = 2;
  static constexpr int kSteps = 2;
  template <int step>
  static Operand Spread(const Factor* p) {
    return Broadcast(p[step]);
  }
  template <int step>
  static Operand LoadColumns(const T* p) {
    const Ints pairs = hn::LoadU(IntTag(), reinterpret_cast<const std::int32_t*>(p));
    if constexpr (step == 0) {
      return hn::BitCast(FloatTag(), hn::ShiftLeft<16>(pairs));
    } else {
      const Ints mask = hn::Set(IntTag(), static_cast<std::int32_t>(0xFFFF0000));
      return hn::BitCast(FloatTag(), hn::And(pairs, mask));
    }
  }
  static Floats MultiplyAdd(Operand a, Operand b, Floats sum) { return hn::MulAdd(a, b, sum); }
  static void StoreFactor(Floats x, Factor* p) {
    Store(hn::BitCast(FloatTag(), hn::ShiftLeft<16>(RoundToBf16(x))), p);
  }
  static void StoreVector(Floats x, T* p) { StoreRounded(x, p); }
};
#endif

/// A matrix stored in pairs along its depth. Groups of 16 columns are `group_stride` elements
/// apart. The next pair of a group is `depth_stride` elements further.
template <typename E>
struct Panel {
  const typename E::T* data;
  std::int64_t group_stride;
  std::int64_t depth_stride;
};

template <typename E, int step, int rows, int vectors>
HWY_INLINE void MultiplyStep(const typename E::Factor* a, std::int64_t a_stride,
                             const typename E::T* b, std::int64_t group_stride,
                             Floats (&sum)[rows][vectors]) {
  typename E::Operand column[vectors];
#pragma GCC unroll 16
  for (int c = 0; c < vectors; ++c) {
    column[c] = E::template LoadColumns<step>(b + c / kGroupVectors * group_stride +
                                              c % kGroupVectors * kLanes * E::kPair);
  }
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
    const typename E::Operand row = E::template Spread<step>(a + r * a_stride);
#pragma GCC unroll 16
    for (int c = 0; c < vectors; ++c) {
      sum[r][c] = E::MultiplyAdd(row, column[c], sum[r][c]);
    }
  }
}

/// sum[r][c] += Σ a[r][k] · b[k][c] over `pairs` pairs of k.
template <typename E, int rows, int vectors>
HWY_INLINE void MultiplyPanel(const typename E::Factor* a, std::int64_t a_stride, const Panel<E>& b,
                              std::int64_t pairs, Floats (&sum)[rows][vectors]) {
  const typename E::T* data = b.data;
  for (std::int64_t k = 0; k < pairs; ++k) {
    MultiplyStep<E, 0>(a, a_stride, data, b.group_stride, sum);
    if constexpr (E::kSteps == 2) {
      MultiplyStep<E, 1>(a, a_stride, data, b.group_stride, sum);
    }
    a += E::kPair;
    data += b.depth_stride;
  }
}

template <int rows, int groups_at_once, typename Block>
HWY_INLINE void ForGroups(std::int64_t row, std::int64_t group, std::int64_t groups,
                          const Block& block) {
  for (; group + groups_at_once <= groups; group += groups_at_once) {
    block.template operator()<rows, groups_at_once>(row, group);
  }
  if constexpr (groups_at_once > 1) {
    ForGroups<rows, groups_at_once / 2>(row, group, groups, block);
  }
}

template <int rows_at_once, typename Block>
HWY_INLINE void ForRows(std::int64_t row, std::int64_t rows, std::int64_t first_group,
                        std::int64_t groups, const Block& block) {
  for (; row + rows_at_once <= rows; row += rows_at_once) {
    ForGroups<rows_at_once, GroupsAtOnce(rows_at_once)>(row, first_group, groups, block);
  }
  if constexpr (rows_at_once > 1) {
    ForRows<(rows_at_once > 3 ? 3 : 1)>(row, rows, first_group, groups, block);
  }
}

/// Calls block.template operator()<rows, groups>(first_row, group) for blocks that cover
/// [0, rows) x [first_group, groups).
template <typename Block>
HWY_INLINE void ForBlocks(std::int64_t rows, std::int64_t first_group, std::int64_t groups,
                          const Block& block) {
  ForRows<kRowsAtOnce>(0, rows, first_group, groups, block);
}

/// Raises the row's maximum to that of `best`, if this is more than kMaximumSlack above. Returns
/// the factor for its sums so far: exactly 1 if the maximum does not change.
HWY_INLINE float RaiseMaximum(Floats best, float* state) {
  const float maximum = Max(best);
  if (!(maximum > state[0] + kMaximumSlack)) {
    return 1;
  }
  const float factor = hn::GetLane(Exp(Broadcast(state[0] - maximum)));
  state[0] = maximum;
  return factor;
}

/// Turns a row's scores into weights relative to the new maximum, and rescales the row's sums to
/// the new maximum. Returns the factor for the weighted values so far. The row sees all 64 keys. No
/// score is far above the maximum, so ExpUpTo88 is enough.
template <typename E>
HWY_INLINE float WeighAll(const float* scores, float* state, typename E::Factor* weights) {
  constexpr int kVectors = kTileKeys / kLanes;
  // This comparison drops a NaN; the weight computed below keeps it.
  Floats best = Broadcast(state[0]);
#pragma GCC unroll 16
  for (int v = 0; v < kVectors; ++v) {
    best = Larger(Load(scores + v * kLanes), best);
  }
  const float factor = RaiseMaximum(best, state);
  const Floats maximum = Broadcast(state[0]);
  Floats sum[kGroupVectors];
  Floats nothing[kGroupVectors];
#pragma GCC unroll 16
  for (int h = 0; h < kGroupVectors; ++h) {
    sum[h] = Zero();
    nothing[h] = Zero();
  }
#pragma GCC unroll 16
  for (int v = 0; v < kVectors; ++v) {
    const Floats score = Load(scores + v * kLanes);
    const Floats weight = ExpUpTo88(hn::Sub(score, maximum));
    nothing[v % kGroupVectors] = hn::MulAdd(score, Zero(), nothing[v % kGroupVectors]);
    E::StoreFactor(weight, weights + v * kLanes);
    sum[v % kGroupVectors] = hn::Add(sum[v % kGroupVectors], weight);
  }
#pragma GCC unroll 16
  for (int h = 0; h < kGroupVectors; ++h) {
    float* part = state + 1 + h * kLanes;
    Store(hn::MulAdd(Load(part), Broadcast(factor), hn::Add(sum[h], nothing[h])), part);
  }
  return factor;
}

/// Like WeighAll, for a row that sees the keys [hidden, visible) of `groups` groups, at least one.
/// Other keys get the weight 0.
template <typename E>
HWY_INLINE float WeighSome(const float* scores, int first_group, int groups, int hidden,
                           int visible, float* state, typename E::Factor* weights) {
  const auto seen = [&](int first) {
    const Ints lane = hn::Add(hn::BitCast(IntTag(), LaneNumbers()), hn::Set(IntTag(), first));
    return hn::RebindMask(FloatTag(), hn::And(hn::Gt(lane, hn::Set(IntTag(), hidden - 1)),
                                              hn::Lt(lane, hn::Set(IntTag(), visible))));
  };
  const auto seen_score = [&](int first) {
    return hn::IfThenElse(seen(first), Load(scores + first), Broadcast(kNoScore));
  };
  Floats best = Broadcast(state[0]);
  for (int first = first_group * kGroup; first < groups * kGroup; first += kLanes) {
    best = Larger(seen_score(first), best);
  }
  const float factor = RaiseMaximum(best, state);
  const Floats maximum = Broadcast(state[0]);
  HWY_ALIGN float sums[kGroup] = {};
  HWY_ALIGN float nothings[kGroup] = {};
  for (int first = first_group * kGroup; first < groups * kGroup; first += kLanes) {
    const Floats score = seen_score(first);
    const Floats weight = hn::IfThenElseZero(seen(first), ExpUpTo88(hn::Sub(score, maximum)));
    float* sum = sums + first % kGroup;
    float* nothing = nothings + first % kGroup;
    Store(hn::MulAdd(score, Zero(), Load(nothing)), nothing);
    E::StoreFactor(weight, weights + first);
    Store(hn::Add(Load(sum), weight), sum);
  }
  for (int h = 0; h < kGroup; h += kLanes) {
    float* part = state + 1 + h;
    Store(hn::MulAdd(Load(part), Broadcast(factor), hn::Add(Load(sums + h), Load(nothings + h))),
          part);
  }
  return factor;
}

/// Number of rows whose scores are held at once.
constexpr std::int64_t kRowBlock = 24;

/// Prefetches lines [bytes · begin / rows, bytes · end / rows) of `data`, so that the rows of a
/// call together prefetch all of it.
HWY_INLINE void Prefetch(const std::byte* data, std::int64_t bytes, std::int64_t begin,
                         std::int64_t end, std::int64_t rows) {
  constexpr std::int64_t kLine = 64;
  const std::int64_t lines = bytes / kLine;
  for (std::int64_t i = lines * begin / rows; i < lines * end / rows; ++i) {
    hwy::Prefetch(data + i * kLine);
  }
}

template <typename E>
void AttendRows(const AttentionTile& tile, std::int64_t first, std::int64_t rows) {
  using T = typename E::T;
  using Factor = typename E::Factor;
  constexpr std::int64_t kSize = sizeof(T);
  const int* visible = tile.visible + first;
  const int* hidden = tile.hidden == nullptr ? nullptr : tile.hidden + first;
  int keys = 0;
  int first_key = kTileKeys;
  for (std::int64_t r = 0; r < rows; ++r) {
    keys = visible[r] > keys ? visible[r] : keys;
    if (visible[r] > 0) {
      const int row_first = hidden == nullptr ? 0 : hidden[r];
      first_key = row_first < first_key ? row_first : first_key;
    }
  }
  if (keys == 0) {
    return;
  }
  const int first_group = first_key / kGroup;
  const int groups = (keys + kGroup - 1) / kGroup;
  const auto* queries = reinterpret_cast<const Factor*>(tile.queries) + first * tile.head_dim;
  const Panel<E> key_panel = {reinterpret_cast<const T*>(tile.keys), tile.head_dim * kGroup,
                              kGroup * E::kPair};
  HWY_ALIGN float scores[kRowBlock][kTileKeys];
  ForBlocks(rows, first_group, groups, [&]<int r, int g>(std::int64_t row, std::int64_t group) {
    Floats sum[r][g * kGroupVectors];
#pragma GCC unroll 16
    for (int i = 0; i < r; ++i) {
#pragma GCC unroll 16
      for (int j = 0; j < g * kGroupVectors; ++j) {
        sum[i][j] = Zero();
      }
    }
    if (tile.next_keys != nullptr && group == first_group) {
      Prefetch(tile.next_keys, kTileKeys * tile.head_dim * kSize, first + row, first + row + r,
               tile.rows);
    }
    MultiplyPanel<E>(queries + row * tile.head_dim, tile.head_dim,
                     Panel<E>{key_panel.data + group * key_panel.group_stride,
                              key_panel.group_stride, key_panel.depth_stride},
                     tile.head_dim / E::kPair, sum);
#pragma GCC unroll 16
    for (int i = 0; i < r; ++i) {
#pragma GCC unroll 16
      for (int j = 0; j < g * kGroupVectors; ++j) {
        Store(sum[i][j], scores[row + i] + group * kGroup + j * kLanes);
      }
    }
  });

  if (tile.softcap != 0) {
    for (std::int64_t r = 0; r < rows; ++r) {
      for (int i = first_group * kGroup; i < groups * kGroup; i += kLanes) {
        Store(CapTimesTanh(tile.softcap, Load(scores[r] + i)), scores[r] + i);
      }
    }
  }

  HWY_ALIGN Factor weights[kRowBlock][kTileKeys];
  float factors[kRowBlock];
  for (std::int64_t r = 0; r < rows; ++r) {
    float* state = tile.states + kRowState * (first + r);
    const int row_first = hidden == nullptr ? 0 : hidden[r];
    if (visible[r] == kTileKeys && row_first == 0) {
      factors[r] = WeighAll<E>(scores[r], state, weights[r]);
    } else if (visible[r] > 0) {
      factors[r] =
          WeighSome<E>(scores[r], first_group, groups, row_first, visible[r], state, weights[r]);
    } else {
      factors[r] = 1;
      std::memset(weights[r], 0, sizeof(weights[r]));
    }
  }

  // Values in front of the first key that any of the rows sees are not read, nor are those behind
  // the last one.
  first_key -= first_key % E::kPair;
  const T* values = reinterpret_cast<const T*>(tile.values) + first_key * tile.value_stride;
  float* outputs = tile.outputs + first * tile.value_stride;
  const std::int64_t pairs = (keys - first_key + E::kPair - 1) / E::kPair;
  ForBlocks(rows, 0, tile.value_stride / kGroup,
            [&]<int r, int g>(std::int64_t row, std::int64_t group) {
              constexpr int kVectors = g * kGroupVectors;
              Floats sum[r][kVectors];
              if (tile.next_values != nullptr && group == 0) {
                Prefetch(tile.next_values, kTileKeys * tile.value_stride * kSize, first + row,
                         first + row + r, tile.rows);
              }
              float* output = outputs + row * tile.value_stride + group * kGroup;
#pragma GCC unroll 16
              for (int i = 0; i < r; ++i) {
#pragma GCC unroll 16
                for (int j = 0; j < kVectors; ++j) {
                  sum[i][j] = hn::Mul(Load(output + i * tile.value_stride + j * kLanes),
                                      Broadcast(factors[row + i]));
                }
              }
              MultiplyPanel<E>(weights[row] + first_key, kTileKeys,
                               Panel<E>{values + group * kGroup * E::kPair, kGroup * E::kPair,
                                        tile.value_stride * E::kPair},
                               pairs, sum);
#pragma GCC unroll 16
              for (int i = 0; i < r; ++i) {
#pragma GCC unroll 16
                for (int j = 0; j < kVectors; ++j) {
                  Store(sum[i][j], output + i * tile.value_stride + j * kLanes);
                }
              }
            });
}

template <typename E>
void Attend(const AttentionTile& tile) {
  for (std::int64_t first = 0; first < tile.rows; first += kRowBlock) {
    const std::int64_t rest = tile.rows - first;
    AttendRows<E>(tile, first, rest < kRowBlock ? rest : kRowBlock);
  }
}

/// Whether a row in this state has seen no key. If it has seen keys, one of them has a weight of at
/// least 1, so its sums are not all 0.
HWY_INLINE bool HasSeenNothing(const float* state) {
  bool is_zero = true;
  for (int i = 1; i < kRowState; i += kLanes) {
    is_zero = is_zero && hn::AllTrue(FloatTag(), hn::Eq(Load(state + i), Zero()));
  }
  return is_zero;
}

void FoldSpan(const AttentionSums& span, const AttentionSums& total) {
  for (std::int64_t r = 0; r < span.rows; ++r) {
    const float* from = span.outputs + r * span.value_stride;
    const float* from_state = span.states + r * kRowState;
    float* to = total.outputs + r * total.value_stride;
    float* state = total.states + r * kRowState;
    if (HasSeenNothing(from_state)) {
      continue;
    }
    if (HasSeenNothing(state)) {
      std::memcpy(to, from, static_cast<std::size_t>(span.value_stride) * sizeof(float));
      std::memcpy(state, from_state, kRowState * sizeof(float));
      continue;
    }
    const float maximum = from_state[0] > state[0] ? from_state[0] : state[0];
    // Both factors in one vector: the factor of the sums so far in even lanes, and the factor of
    // the span's sums in odd lanes. One of the two is exactly 1.
    const Floats factors =
        Exp(hn::OddEven(Broadcast(from_state[0] - maximum), Broadcast(state[0] - maximum)));
    const Floats factor = hn::Broadcast<0>(factors);
    const Floats from_factor = hn::Broadcast<1>(factors);
    state[0] = maximum;
    const auto add = [&](const float* x, float* sum) {
      Store(hn::MulAdd(Load(x), from_factor, hn::Mul(Load(sum), factor)), sum);
    };
    for (int i = 1; i < kRowState; i += kLanes) {
      add(from_state + i, state + i);
    }
    for (std::int64_t i = 0; i < span.value_stride; i += kLanes) {
      add(from + i, to + i);
    }
  }
}

template <typename E>
void StoreQuery(const float* x, float factor, std::int64_t n, std::byte* out) {
  auto* to = reinterpret_cast<typename E::Factor*>(out);
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    E::StoreFactor(hn::Mul(Load(x + i), Broadcast(factor)), to + i);
  }
  if (i < n) {
    typename E::Factor part[kLanes];
    E::StoreFactor(hn::Mul(LoadPart(x + i, n - i), Broadcast(factor)), part);
    std::memcpy(to + i, part, static_cast<std::size_t>(n - i) * sizeof(part[0]));
  }
}

template <typename E>
void StoreKey(const float* key, std::int64_t n, std::int64_t row, std::byte* group) {
  auto* to = reinterpret_cast<typename E::T*>(group) + row % kGroup * E::kPair;
  typename E::T part[kLanes];
  for (std::int64_t i = 0; i < n; i += kLanes) {
    const std::int64_t count = n - i < kLanes ? n - i : kLanes;
    E::StoreVector(count == kLanes ? Load(key + i) : LoadPart(key + i, count), part);
    for (std::int64_t j = 0; j < count; j += E::kPair) {
      std::memcpy(to + (i + j) * kGroup, part + j, sizeof(typename E::T) * E::kPair);
    }
  }
}

template <typename E>
void StoreValue(const float* value, std::int64_t n, std::int64_t row, std::int64_t value_stride,
                std::byte* values) {
  // The other elements of a pair belong to another row, which another thread may be writing.
  auto* to = reinterpret_cast<typename E::T*>(values) + row / E::kPair * value_stride * E::kPair +
             row % E::kPair;
  typename E::T part[kLanes];
  for (std::int64_t i = 0; i < n; i += kLanes) {
    const std::int64_t count = n - i < kLanes ? n - i : kLanes;
    E::StoreVector(count == kLanes ? Load(value + i) : LoadPart(value + i, count), part);
    for (std::int64_t j = 0; j < count; ++j) {
      to[(i + j) * E::kPair] = part[j];
    }
  }
}

template <typename E>
constexpr AttentionKernels MakeAttention() {
  return {sizeof(typename E::T),
          sizeof(typename E::Factor),
          &StoreQuery<E>,
          &StoreKey<E>,
          &StoreValue<E>,
          &Attend<E>,
          &FoldSpan};
}

}  // namespace
}  // namespace scorecast::shard::SCORECAST_KERNELS_NAMESPACE

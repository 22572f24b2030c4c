#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace scorecast::shard {

/// Keys of one attention tile. Tiles are counted from a segment's first row. A row always reduces
/// over the same tiles, whatever else is computed in the pass.
inline constexpr int kTileKeys = 64;
/// Keys stored side by side; value_stride is a multiple of it. See KvStore.
inline constexpr int kKeyLanes = 16;

/// Query rows and one tile of keys: one step of softmax(q·Kᵀ)·V, which carries the maximum, the sum
/// of exponentials and the weighted values from tile to tile (as FlashAttention, arXiv 2205.14135).
/// T is the type of queries, keys and values. pair is 1 for float32 and 2 for bfloat16, whose
/// products are computed two at a time.
struct AttentionTile {
  std::int64_t head_dim = 0;
  const std::byte* keys = nullptr;    ///< T [tile keys / 16][head_dim / pair][16][pair]
  const std::byte* values = nullptr;  ///< T [tile keys / pair][value_stride][pair]
  std::int64_t value_stride = 0;      ///< head_dim rounded up to 16; the padding is zero.
  /// The keys and values that the kernel is to prefetch, because they are attended next; may be
  /// null.
  const std::byte* next_keys = nullptr;
  const std::byte* next_values = nullptr;
  std::int64_t rows = 0;
  const std::byte* queries = nullptr;  ///< [rows][head_dim] as store_query wrote them.
  float softcap = 0;                   ///< If not 0, scores are softcap · tanh(query · key).
  const int* visible = nullptr;        ///< [rows]: a row sees keys [hidden, visible) of the tile.
  /// [rows]: less than `visible` unless that is 0. Null if no row has hidden keys.
  const int* hidden = nullptr;
  float* outputs = nullptr;  ///< [rows][value_stride]: weighted values so far.
  float* states = nullptr;   ///< [rows][kRowState]; see kRowState.
};

/// A row's state: the maximum so far, to within kMaximumSlack, and the sum of exponentials relative
/// to that maximum, in 16 parts.
inline constexpr int kRowState = 1 + kKeyLanes;

/// A score raises the row's maximum only if it exceeds it by more than this, so that sums are
/// rarely rescaled. The weight of a key is therefore at most exp(kMaximumSlack).
inline constexpr float kMaximumSlack = 4;

/// Initial maximum of a row's state (the initial sums are 0). No score is below it, and it is
/// finite, so that differences to it are never NaN.
inline constexpr float kNoScore = std::numeric_limits<float>::lowest();

/// Sums of rows over some of their keys.
struct AttentionSums {
  std::int64_t rows = 0;
  std::int64_t value_stride = 0;
  float* outputs = nullptr;  ///< [rows][value_stride]
  float* states = nullptr;   ///< [rows][kRowState]
};

/// Attention over keys and values of one type T.
struct AttentionKernels {
  std::int64_t element_size;  ///< sizeof(T)
  /// Bytes of a query's element. A kernel set that cannot multiply pairs of bfloat16 has queries of
  /// float32, whose values are nevertheless rounded to bfloat16.
  std::int64_t query_size;

  /// out[i] = factor · x[i], rounded to T: a scaled query. `n` is head_dim, which is even.
  void (*store_query)(const float* x, float factor, std::int64_t n, std::byte* out);
  /// Writes `key` [n] into lane `row` % 16 of the group of 16 keys at `group`.
  void (*store_key)(const float* key, std::int64_t n, std::int64_t row, std::byte* group);
  /// Writes `value` [n] as row `row` of `values`, T [rows / pair][value_stride][pair].
  void (*store_value)(const float* value, std::int64_t n, std::int64_t row,
                      std::int64_t value_stride, std::byte* values);
  /// Adds one tile to the rows' states and outputs. A row that sees no key keeps its bits. Keys
  /// that a row does not see have no effect on it, even if they are not finite: their weight is
  /// exactly 0. Values that a row does not see are multiplied by zero if they lie between the first
  /// and the last pair that a row of the call sees; they must then be finite. Other values have no
  /// effect.
  void (*attend)(const AttentionTile& tile);
  /// Adds the sums of a span of keys, which began at the initial state, to the sums so far. A row
  /// that saw no key of the span keeps its bits; a row that had seen no key before gets the span's
  /// sums.
  void (*fold)(const AttentionSums& span, const AttentionSums& total);
};

}  // namespace scorecast::shard

#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string_view>

namespace scorecast::shard {

/// Instruction sets that the kernels are compiled for, from the least to the most.
enum class InstructionSet : int { kGeneric = 0, kAvx2 = 1, kAvx512 = 2 };

std::string_view Name(InstructionSet set);

/// Keys of one attention tile. Tiles are counted from a segment's first row, and every row reduces
/// over the same tiles whatever else is computed.
inline constexpr int kTileKeys = 64;
/// Rows that the attention kernel takes at once. Missing ones are given as copies that see nothing.
inline constexpr int kTileRows = 4;
/// Keys stored side by side; see KvStore.
inline constexpr int kKeyLanes = 16;

/// kTileRows query rows against one tile of keys: a step of softmax(q·Kᵀ)·V that carries the
/// maximum, the sum of exponentials and the weighted values from tile to tile.
struct AttentionTile {
  std::int64_t head_dim = 0;
  const float* keys = nullptr;                  ///< [tile keys / 16][head_dim][16]
  const float* values = nullptr;                ///< [tile keys][value_stride]
  std::int64_t value_stride = 0;                ///< head_dim rounded up to 16; the rest is zero.
  std::array<const float*, kTileRows> query{};  ///< Each [head_dim], scaled already.
  std::array<int, kTileRows> visible{};    ///< Of each row: sees keys [0, visible) of the tile.
  std::array<float*, kTileRows> output{};  ///< Each [value_stride]: weighted values so far.
  std::array<float*, kTileRows> state{};   ///< Each [2]: maximum, sum of exponentials so far.
};

/// Where a row's `state` starts: above no score, and finite, so that no difference is a NaN.
inline constexpr float kNoScore = std::numeric_limits<float>::lowest();

/// The loops that are not a library's, for one instruction set. A row's result depends on that row
/// alone, and is not finite where what it is computed from is not. Arrays need no alignment; `n` is
/// any length.
struct Kernels {
  InstructionSet instruction_set;

  /// out[i] = x[i] / sqrt(mean(x²) + eps) · weight[i]; `out` may be `x`.
  void (*rms_norm)(const float* x, const float* weight, std::int64_t n, float eps, float* out);
  /// sum[i] += x[i]
  void (*add)(const float* x, std::int64_t n, float* sum);
  /// out[i] = silu(gate[i]) · up[i]; `out` may be `gate`.
  void (*swiglu)(const float* gate, const float* up, std::int64_t n, float* out);
  /// Rotates pairs (i, i + head_dim / 2) of one head in place; `cosine` and `sine`: [head_dim / 2].
  void (*rope)(const float* cosine, const float* sine, std::int64_t head_dim, float* head);
  /// out[i] = factor · x[i]
  void (*scale)(const float* x, std::int64_t n, float factor, float* out);
  /// Σ a[i] · b[i]
  float (*dot)(const float* a, const float* b, std::int64_t n);
  /// The maximum of x, and Σ exp(x[i] - maximum), which is not finite where an x is not;
  /// kNoScore and 0 where there is none.
  void (*max_and_sum_exp)(const float* x, std::int64_t n, float* maximum, double* sum_exp);
  /// A row that sees nothing keeps its state and output. A key or value that a row does not see
  /// does not reach it, finite or not.
  void (*attend_tile)(const AttentionTile& tile);
};

/// The best that this CPU has.
InstructionSet DetectInstructionSet();

/// Kernels for `set`, which this CPU must have (Check).
const Kernels& KernelsFor(InstructionSet set);

}  // namespace scorecast::shard

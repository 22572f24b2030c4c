#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "shard/kernels/attention_kernels.h"
#include "shard/kernels/cpu_features.h"
#include "shard/kernels/int8_product_kernels.h"
#include "shard/kernels/product_kernels.h"

namespace scorecast::shard {

/// One activation.
struct ActivationKernels {
  /// out[i] = activation(gate[i]) · up[i]; `out` may be `gate` or `up`.
  void (*gated)(const float* gate, const float* up, std::int64_t n, float* out);
  /// out[i] = activation(x[i]); `out` may be `x`.
  void (*plain)(const float* x, std::int64_t n, float* out);
};

/// The loops that no library computes, for one kernel set. A row's result depends on that row
/// alone. If an input is not finite, neither are the results that depend on it. Arrays need no
/// alignment; `n` may be any length.
struct Kernels {
  /// out[i] = x[i] / sqrt(mean(x²) + eps) · weight[i]; `out` may be `x`.
  void (*rms_norm)(const float* x, const float* weight, std::int64_t n, float eps, float* out);
  /// out[i] = (x[i] - mean(x)) / sqrt(mean((x - mean(x))²) + eps) · weight[i] + bias[i]; `bias` may
  /// be null; `out` may be `x`.
  void (*layer_norm)(const float* x, const float* weight, const float* bias, std::int64_t n,
                     float eps, float* out);
  /// sum[i] += x[i]
  void (*add)(const float* x, std::int64_t n, float* sum);
  ActivationKernels silu;
  ActivationKernels gelu;       ///< By the error function.
  ActivationKernels gelu_tanh;  ///< In the tanh approximation.
  ActivationKernels relu;
  /// x[i] = cap · tanh(x[i] / cap); cap > 0.
  void (*soft_cap)(float cap, std::int64_t n, float* x);
  /// Rotates pairs (i, i + head_dim / 2) of one head in place; `cosine` and `sine`: [head_dim / 2].
  void (*rope)(const float* cosine, const float* sine, std::int64_t head_dim, float* head);
  /// Σ a[i] · b[i]
  float (*dot)(const float* a, const float* b, std::int64_t n);
  /// maximum = max x, and sum_exp = Σ exp(x[i] - maximum). sum_exp is not finite if any x is not.
  /// If n is 0, they are kNoScore and 0.
  void (*max_and_sum_exp)(const float* x, std::int64_t n, float* maximum, double* sum_exp);

  /// Candidates among the tokens with ids [first_id, first_id + 32); first_id is a multiple of 32.
  /// If bit i is clear, logits[i] + proto::GumbelNoise is certainly below `least`. A bit is set if
  /// the token's u (proto::GumbelUniform) satisfies 1 - u <= exp(logit - least), which every sum of
  /// `least` or more does; a margin for rounding sets about one bit in a thousand more. All inputs
  /// are finite.
  std::uint32_t (*draw_candidates)(const float* logits, std::uint64_t seed, std::uint32_t step,
                                   std::uint32_t first_id, float least);

  /// Adds the masses of tokens to their bins, which are 1 / bins_of_logit wide (proto::MassBins).
  /// masses[i] is bin highest - i. `masses` has kCount + 1 places, of which the last one takes all
  /// lower bins. Returns the number of bins from the highest one to the lowest one that has tokens,
  /// at most kCount. All logits are finite, and none lies in a bin above `highest`.
  std::int64_t (*mass_bins)(const float* logits, std::int64_t n, float bins_of_logit,
                            std::int32_t highest, std::uint32_t* masses);

  /// out[i] = x[i] rounded to the nearest bfloat16, ties to even; NaN stays NaN. A subnormal may
  /// become zero, because the CPU's own instruction does that.
  void (*to_bf16)(const float* x, std::int64_t n, std::uint16_t* out);
  /// sum[i] += x[i], a bfloat16
  void (*add_bf16)(const std::uint16_t* x, std::int64_t n, float* sum);
  /// Rotates x in place: multiplies each block by a Hadamard matrix over the root of its size. The
  /// block size is the largest power of two that divides n, at most 1024. Rotating two vectors does
  /// not change their inner product, but spreads an outlier over its block (as in QuaRot, arXiv
  /// 2404.00456).
  void (*rotate)(float* x, std::int64_t n);
  /// out[i] = 128 + x[i] / scale, rounded. Returns scale = max |x| / 127, which is 0 if all x are 0
  /// and NaN if any x is not finite.
  float (*quantize)(const float* x, std::int64_t n, std::uint8_t* out);
  /// out[i] = (sums[i] - offsets[i]) · (row_scale · scales[i]); `out` may be `sums`.
  void (*dequantize)(const std::int32_t* sums, const std::int32_t* offsets, const float* scales,
                     float row_scale, std::int64_t n, float* out);

  /// Attention over float32 and over bfloat16 keys and values.
  AttentionKernels attention_f32;
  AttentionKernels attention_bf16;

  ProductKernels products;
  Int8ProductKernels int8_products;
};

/// The kernels compiled for one set of instructions.
struct KernelSet {
  std::string_view name;  ///< The spelling of --kernel.
  CpuFeatures needs;
  const Kernels* kernels;
};

/// All sets, the preferred ones first. The last one needs no feature.
std::span<const KernelSet> KernelSets();

/// The first set whose needs are among `features`.
const KernelSet& BestKernelSet(CpuFeatures features);

/// The kernels of that set. They run on this CPU if it has `features`.
const Kernels& KernelsFor(CpuFeatures features);

/// The version of Google Highway, whose vectors the kernels are written with: "1.0.3".
std::string HighwayVersion();

}  // namespace scorecast::shard

#pragma once

#include <cstdint>
#include <string_view>

#include "shard/kernels/attention_kernels.h"

namespace scorecast::shard {

/// Instruction sets that the kernels are compiled for, from the least to the most.
enum class InstructionSet : int {
  kGeneric = 0,
  kAvx2 = 1,
  kAvx512 = 2,
  kAvx512Bf16 = 3,  ///< With products of pairs of bfloat16.
};

std::string_view Name(InstructionSet set);

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
  /// Σ a[i] · b[i]
  float (*dot)(const float* a, const float* b, std::int64_t n);
  /// The maximum of x, and Σ exp(x[i] - maximum), which is not finite where an x is not;
  /// kNoScore and 0 where there is none.
  void (*max_and_sum_exp)(const float* x, std::int64_t n, float* maximum, double* sum_exp);

  /// Of the tokens with ids [first_id, first_id + 32), first_id being a multiple of 32: bit i is
  /// set where logits[i] + proto::GumbelNoise may be `least` or more. Where it cannot it is not,
  /// but for one token in a thousand of those that can. All is finite.
  std::uint32_t (*draw_candidates)(const float* logits, std::uint64_t seed, std::uint32_t step,
                                   std::uint32_t first_id, float least);

  /// out[i] = x[i] rounded to the nearest bfloat16, ties to even; NaN stays NaN. A subnormal may
  /// become zero, as the CPU's own instruction has it.
  void (*to_bf16)(const float* x, std::int64_t n, std::uint16_t* out);
  /// sum[i] += x[i], a bfloat16
  void (*add_bf16)(const std::uint16_t* x, std::int64_t n, float* sum);
  /// Rotates x in place: blocks of a power of two (the largest that divides n, 1024 at most) times
  /// the Hadamard matrix, over the root of its size. Products of two rotated vectors are those of
  /// the vectors, but an outlier is spread over its block (as QuaRot, arXiv 2404.00456).
  void (*rotate)(float* x, std::int64_t n);
  /// out[i] = 128 + x[i] / scale, rounded; returns scale = max |x| / 127, or a NaN where an x is
  /// not finite, or 0 where all are 0.
  float (*quantize)(const float* x, std::int64_t n, std::uint8_t* out);
  /// out[i] = (sums[i] - offsets[i]) · (row_scale · scales[i]); `out` may be `sums`.
  void (*dequantize)(const std::int32_t* sums, const std::int32_t* offsets, const float* scales,
                     float row_scale, std::int64_t n, float* out);

  /// Over keys and values kept as float32, and as bfloat16.
  AttentionKernels attention_f32;
  AttentionKernels attention_bf16;
};

/// The best that this CPU has.
InstructionSet DetectInstructionSet();

/// Kernels for `set`, which this CPU must have (Check).
const Kernels& KernelsFor(InstructionSet set);

}  // namespace scorecast::shard

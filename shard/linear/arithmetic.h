#pragma once

#include <memory>
#include <string>

#include "shard/kernels/kernels.h"
#include "shard/linear/gemm_backend.h"
#include "shard/linear/precision.h"

namespace scorecast::shard {

/// The precisions of an engine's matrix products, and the library for each.
struct ArithmeticChoice {
  Precision layers = Precision::kFloat32;
  /// Never int8: few rows go through the lm-head, and every error in it shows in the scores.
  Precision lm_head = Precision::kFloat32;
  bool layers_by_onednn = false;
  bool lm_head_by_onednn = false;
};

/// bfloat16 if the instruction set has products of it, else float32.
constexpr Precision DefaultPrecision(InstructionSet set) {
  return set >= InstructionSet::kAvx512Bf16 ? Precision::kBfloat16 : Precision::kFloat32;
}

/// The best choice on this CPU for layers of `precision`.
ArithmeticChoice ChooseArithmetic(Precision precision);

/// Limits oneDNN to the instructions of `set`, for --kernel. Must be called before anything else of
/// oneDNN. Does nothing if ONEDNN_MAX_CPU_ISA is set, which takes precedence.
void LimitOneDnn(InstructionSet set);

/// The chosen backends. Keys and values are bfloat16 unless the layers are float32.
class Arithmetic {
 public:
  Arithmetic(const Kernels& kernels, const ArithmeticChoice& choice, int threads);

  Precision layers() const { return choice_.layers; }
  Precision lm_head() const { return choice_.lm_head; }
  GemmBackend& layer_backend() { return Backend(choice_.layers_by_onednn); }
  GemmBackend& lm_head_backend() { return Backend(choice_.lm_head_by_onednn); }
  const AttentionKernels& attention() const { return attention_; }

  /// For the log, e.g. "bf16 by oneDNN 2.6.3 brgemm:avx512_core_bf16".
  std::string Description();

 private:
  GemmBackend& Backend(bool onednn) { return onednn ? *onednn_ : *openblas_; }

  ArithmeticChoice choice_;
  std::unique_ptr<GemmBackend> openblas_;
  std::unique_ptr<GemmBackend> onednn_;  // Falls back to `openblas_`.
  const AttentionKernels& attention_;
};

}  // namespace scorecast::shard

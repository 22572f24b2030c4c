#include "shard/linear/arithmetic.h"

#include <cstdlib>

#include <dnnl.hpp>

#include "shard/linear/onednn_backend.h"
#include "shard/linear/openblas_backend.h"

namespace scorecast::shard {

ArithmeticChoice ChooseArithmetic(Precision precision) {
  ArithmeticChoice choice;
  choice.layers = precision;
  choice.layers_by_onednn = OneDnnBackend::Supports(precision);
  choice.lm_head = precision;
  if (precision == Precision::kInt8) {
    choice.lm_head =
        OneDnnBackend::Supports(Precision::kBfloat16) ? Precision::kBfloat16 : Precision::kFloat32;
  }
  choice.lm_head_by_onednn = OneDnnBackend::Supports(choice.lm_head);
  return choice;
}

void LimitOneDnn(InstructionSet set) {
  if (std::getenv("ONEDNN_MAX_CPU_ISA") != nullptr) {
    return;
  }
  switch (set) {
    case InstructionSet::kGeneric:
      dnnl::set_max_cpu_isa(dnnl::cpu_isa::sse41);
      return;
    case InstructionSet::kAvx2:
      dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx2);
      return;
    case InstructionSet::kAvx512:
      dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx512_core_vnni);
      return;
    case InstructionSet::kAvx512Bf16:
      return;  // oneDNN may use everything that the CPU has.
  }
}

Arithmetic::Arithmetic(const Kernels& kernels, const ArithmeticChoice& choice, int threads)
    : choice_(choice),
      openblas_(std::make_unique<OpenBlasBackend>(kernels, threads)),
      onednn_(std::make_unique<OneDnnBackend>(kernels, threads, *openblas_)),
      attention_(choice.layers == Precision::kFloat32 ? kernels.attention_f32
                                                      : kernels.attention_bf16) {}

std::string Arithmetic::Description() {
  std::string text(Name(choice_.layers));
  text += " by " + layer_backend().Description(choice_.layers);
  if (choice_.lm_head != choice_.layers) {
    text += ", lm-head " + std::string(Name(choice_.lm_head));
  }
  return text;
}

}  // namespace scorecast::shard

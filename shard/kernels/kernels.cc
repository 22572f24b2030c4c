#include "shard/kernels/kernels.h"

#include "proto/base/check.h"

namespace scorecast::shard {

extern const Kernels kGenericKernels;
#ifdef SCORECAST_X86_KERNELS
extern const Kernels kAvx2Kernels;
extern const Kernels kAvx512Kernels;
extern const Kernels kAvx512Bf16Kernels;
#endif

std::string_view Name(InstructionSet set) {
  switch (set) {
    case InstructionSet::kGeneric:
      return "generic";
    case InstructionSet::kAvx2:
      return "avx2";
    case InstructionSet::kAvx512:
      return "avx512";
    case InstructionSet::kAvx512Bf16:
      return "avx512_bf16";
  }
  return "unknown";
}

InstructionSet DetectInstructionSet() {
#ifdef SCORECAST_X86_KERNELS
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    return __builtin_cpu_supports("avx512bf16") ? InstructionSet::kAvx512Bf16
                                                : InstructionSet::kAvx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return InstructionSet::kAvx2;
  }
#endif
  return InstructionSet::kGeneric;
}

const Kernels& KernelsFor(InstructionSet set) {
  proto::Check(set <= DetectInstructionSet(), "this CPU has the instruction set");
#ifdef SCORECAST_X86_KERNELS
  if (set == InstructionSet::kAvx512Bf16) {
    return kAvx512Bf16Kernels;
  }
  if (set == InstructionSet::kAvx512) {
    return kAvx512Kernels;
  }
  if (set == InstructionSet::kAvx2) {
    return kAvx2Kernels;
  }
#endif
  return kGenericKernels;
}

}  // namespace scorecast::shard

#include "shard/kernels/kernels.h"

#include <algorithm>

#include <hwy/highway.h>

namespace scorecast::shard {

extern const Kernels kGenericKernels;
#ifdef SCORECAST_X86_KERNELS
extern const Kernels kAvx2Kernels;
extern const Kernels kAvx2VnniKernels;
extern const Kernels kAvx512Kernels;
extern const Kernels kAvx512VnniKernels;
extern const Kernels kAvx512Bf16Kernels;
#endif

namespace {

using enum CpuFeature;

constexpr KernelSet kKernelSets[] = {
#ifdef SCORECAST_X86_KERNELS
    {"avx512_bf16", {kAvx2, kAvx512, kAvx512Vnni, kAvx512Bf16}, &kAvx512Bf16Kernels},
    {"avx512_vnni", {kAvx2, kAvx512, kAvx512Vnni}, &kAvx512VnniKernels},
    {"avx512", {kAvx2, kAvx512}, &kAvx512Kernels},
    {"avx2_vnni", {kAvx2, kAvxVnni}, &kAvx2VnniKernels},
    {"avx2", {kAvx2}, &kAvx2Kernels},
#endif
    {"generic", {}, &kGenericKernels},
};

}  // namespace

std::span<const KernelSet> KernelSets() { return kKernelSets; }

const KernelSet& BestKernelSet(CpuFeatures features) {
  return *std::ranges::find_if(kKernelSets,
                               [&](const KernelSet& set) { return features.Contain(set.needs); });
}

const Kernels& KernelsFor(CpuFeatures features) { return *BestKernelSet(features).kernels; }

std::string HighwayVersion() {
  return std::to_string(HWY_MAJOR) + "." + std::to_string(HWY_MINOR) + "." +
         std::to_string(HWY_PATCH);
}

}  // namespace scorecast::shard

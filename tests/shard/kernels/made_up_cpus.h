#pragma once

#include "shard/kernels/cpu_features.h"

namespace scorecast::shard {

// Features of some CPUs. The machine that runs the tests need not be one of them.
inline constexpr CpuFeatures kHaswell = {CpuFeature::kAvx2};
inline constexpr CpuFeatures kAlderLake = {CpuFeature::kAvx2, CpuFeature::kAvxVnni};
inline constexpr CpuFeatures kSkylakeX = {CpuFeature::kAvx2, CpuFeature::kAvx512};
inline constexpr CpuFeatures kCascadeLake = {CpuFeature::kAvx2, CpuFeature::kAvx512,
                                             CpuFeature::kAvx512Vnni};
inline constexpr CpuFeatures kZen4 = {CpuFeature::kAvx2, CpuFeature::kAvx512,
                                      CpuFeature::kAvx512Vnni, CpuFeature::kAvx512Bf16};
inline constexpr CpuFeatures kSapphireRapids = {
    CpuFeature::kAvx2,       CpuFeature::kAvxVnni, CpuFeature::kAvx512, CpuFeature::kAvx512Vnni,
    CpuFeature::kAvx512Bf16, CpuFeature::kAmxInt8, CpuFeature::kAmxBf16};

}  // namespace scorecast::shard

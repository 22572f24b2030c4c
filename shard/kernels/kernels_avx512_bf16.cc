#define SCORECAST_KERNELS_NAMESPACE kernels_avx512_bf16
#include "shard/kernels/kernels_body.h"

namespace scorecast::shard {

extern const Kernels kAvx512Bf16Kernels;
const Kernels kAvx512Bf16Kernels = kernels_avx512_bf16::MakeKernels();

}  // namespace scorecast::shard

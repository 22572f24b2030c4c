#define SCORECAST_KERNELS_NAMESPACE kernels_avx512
#include "shard/kernels/kernels_body.h"

namespace scorecast::shard {

extern const Kernels kAvx512Kernels;
const Kernels kAvx512Kernels = kernels_avx512::MakeKernels();

}  // namespace scorecast::shard

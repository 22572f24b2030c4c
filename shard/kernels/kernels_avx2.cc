#define SCORECAST_KERNELS_NAMESPACE kernels_avx2
#include "shard/kernels/kernels_body.h"

namespace scorecast::shard {

extern const Kernels kAvx2Kernels;
const Kernels kAvx2Kernels = kernels_avx2::MakeKernels();

}  // namespace scorecast::shard

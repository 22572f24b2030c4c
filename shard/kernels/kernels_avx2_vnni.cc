#define SCORECAST_KERNELS_NAMESPACE kernels_avx2_vnni
#include "shard/kernels/kernels_body.h"

namespace scorecast::shard {

extern const Kernels kAvx2VnniKernels;
const Kernels kAvx2VnniKernels = kernels_avx2_vnni::MakeKernels();

}  // namespace scorecast::shard

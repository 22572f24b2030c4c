#define SCORECAST_KERNELS_NAMESPACE kernels_avx512_vnni
#include "shard/kernels/kernels_body.h"

namespace scorecast::shard {

extern const Kernels kAvx512VnniKernels;
const Kernels kAvx512VnniKernels = kernels_avx512_vnni::MakeKernels();

}  // namespace scorecast::shard

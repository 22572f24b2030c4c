#define SCORECAST_KERNELS_NAMESPACE kernels_avx2_vnni
#include "shard/kernels/kernels_body.h"

static_assert(HWY_TARGET == HWY_AVX2,
              "the options of this source have the features that Highway asks for");

namespace scorecast::shard {

extern const Kernels kAvx2VnniKernels;
const Kernels kAvx2VnniKernels = kernels_avx2_vnni::MakeKernels();

}  // namespace scorecast::shard

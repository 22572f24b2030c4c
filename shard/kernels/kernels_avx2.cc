#define SCORECAST_KERNELS_NAMESPACE kernels_avx2
#include "shard/kernels/kernels_body.h"

static_assert(HWY_TARGET == HWY_AVX2,
              "the options of this source have the features that Highway asks for");

namespace scorecast::shard {

extern const Kernels kAvx2Kernels;
const Kernels kAvx2Kernels = kernels_avx2::MakeKernels();

}  // namespace scorecast::shard

#define SCORECAST_KERNELS_NAMESPACE kernels_avx512
#include "shard/kernels/kernels_body.h"

static_assert(HWY_TARGET == HWY_AVX3,
              "the options of this source have the features that Highway asks for");

namespace scorecast::shard {

extern const Kernels kAvx512Kernels;
const Kernels kAvx512Kernels = kernels_avx512::MakeKernels();

}  // namespace scorecast::shard

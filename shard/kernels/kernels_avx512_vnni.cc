#define SCORECAST_KERNELS_NAMESPACE kernels_avx512_vnni
#include "shard/kernels/kernels_body.h"

static_assert(HWY_TARGET == HWY_AVX3,
              "the options of this source have the features that Highway asks for");

namespace scorecast::shard {

extern const Kernels kAvx512VnniKernels;
const Kernels kAvx512VnniKernels = kernels_avx512_vnni::MakeKernels();

}  // namespace scorecast::shard

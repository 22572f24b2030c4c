#define SCORECAST_KERNELS_NAMESPACE kernels_generic
#include "shard/kernels/kernels_body.h"

namespace scorecast::shard {

extern const Kernels kGenericKernels;
const Kernels kGenericKernels = kernels_generic::MakeKernels();

}  // namespace scorecast::shard

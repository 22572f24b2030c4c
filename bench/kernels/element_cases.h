#pragma once

#include <vector>

#include "bench/kernels/kernel_case.h"
#include "shard/kernels/kernels.h"

namespace scorecast::bench {

/// Kernels that compute a result for each element of some rows, which stay in the caches.
std::vector<KernelCase> ElementCases(const shard::Kernels& kernels);

}  // namespace scorecast::bench

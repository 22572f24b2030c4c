#pragma once

#include <vector>

#include "bench/kernels/kernel_case.h"
#include "shard/kernels/kernels.h"
#include "shard/linear/arithmetic.h"
#include "shard/runtime/thread_pool.h"

namespace scorecast::bench {

/// Products of few and of many rows with weights of the engine's layers, which are together larger
/// than a core's part of the caches.
std::vector<KernelCase> ProductCases(const shard::Kernels& kernels,
                                     const shard::ArithmeticChoice& choice,
                                     shard::ThreadPool& pool);

}  // namespace scorecast::bench

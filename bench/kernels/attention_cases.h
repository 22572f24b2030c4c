#pragma once

#include <vector>

#include "bench/kernels/kernel_case.h"
#include "shard/kernels/attention_kernels.h"
#include "shard/runtime/thread_pool.h"

namespace scorecast::bench {

/// The last rows of a text of 8192 tokens, which attend to all of it, to the last 4096 ("window"),
/// or with soft-capped scores.
std::vector<KernelCase> AttentionCases(const shard::AttentionKernels& kernels,
                                       shard::ThreadPool& pool);

}  // namespace scorecast::bench

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "shard/kernels/attention_kernels.h"
#include "shard/kernels/kernels.h"
#include "shard/linear/arithmetic.h"
#include "shard/runtime/thread_pool.h"

namespace scorecast::bench {

/// A kernel of the engine with random arguments. Counts are those of one run.
struct KernelRun {
  double operations = 0;  ///< Multiplications and additions of products.
  double elements = 0;    ///< Results of a kernel that has no products.
  double bytes = 0;       ///< Weights, which come from memory.
  std::function<void()> run;
};

struct KernelCase {
  std::string name;
  std::function<KernelRun()> make;  ///< Makes the arguments, too.
};

/// Products of few and of many rows with weights of the engine's layers, which are together larger
/// than a core's part of the caches.
std::vector<KernelCase> ProductCases(const shard::Kernels& kernels,
                                     const shard::ArithmeticChoice& choice,
                                     shard::ThreadPool& pool);

/// The last rows of a text of 8192 tokens, which attend to all of it, to the last 4096 ("window"),
/// or with soft-capped scores.
std::vector<KernelCase> AttentionCases(const shard::AttentionKernels& kernels,
                                       shard::ThreadPool& pool);

/// Kernels that compute a result for each element of some rows, which stay in the caches.
std::vector<KernelCase> ElementCases(const shard::Kernels& kernels);

}  // namespace scorecast::bench

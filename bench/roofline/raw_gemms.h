#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/roofline/pass_products.h"
#include "shard/runtime/thread_pool.h"

namespace scorecast::bench {

/// A library's bare matrix products, with random weights in the library's own layout. Their time is
/// that of a pass if everything else cost nothing.
class RawGemms {
 public:
  virtual ~RawGemms() = default;

  /// The library and its kernel.
  virtual std::string Description() const = 0;

  /// Seconds of all products, one after another. Weights and buffers of new products are made
  /// before the clock starts. A first run is slow nevertheless.
  virtual double Run(const std::vector<Product>& products) = 0;
};

/// OpenBLAS in float32: whole products, on `threads` threads of its own.
std::unique_ptr<RawGemms> MakeOpenBlasGemms(int threads);

/// oneDNN in "f32", "bf16" or "int8" (u8 · s8, summed in s32), in tasks of at most 128 rows and 256
/// outputs on the pool's threads. Null if this CPU lacks instructions for the dtype, because the
/// library would then not use its fast kernels or would compute in another dtype.
std::unique_ptr<RawGemms> MakeOneDnnGemms(const std::string& dtype, shard::ThreadPool& pool);

}  // namespace scorecast::bench

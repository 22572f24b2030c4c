#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/roofline/pass_products.h"
#include "shard/runtime/thread_pool.h"

namespace scorecast::bench {

/// A library's bare matrix products, with random weights in the layout that it likes: what a pass
/// would take if nothing else cost anything.
class RawGemms {
 public:
  virtual ~RawGemms() = default;

  /// The library, and which of its kernels.
  virtual std::string Description() const = 0;

  /// Seconds for all of them, one after another. Weights and buffers are made at the first sight of
  /// a product, before the clock starts; a first run is slow nevertheless.
  virtual double Run(const std::vector<Product>& products) = 0;
};

/// OpenBLAS in float32: whole products, with so many threads of its own.
std::unique_ptr<RawGemms> MakeOpenBlasGemms(int threads);

/// oneDNN in "f32", "bf16" or "int8" (u8 · s8, summed in s32), in tasks of at most 128 rows and 256
/// outputs, dealt out to the pool's threads. Null where this CPU lacks the instructions for the
/// dtype, so that the library would compute in another or without its fast kernels.
std::unique_ptr<RawGemms> MakeOneDnnGemms(const std::string& dtype, shard::ThreadPool& pool);

}  // namespace scorecast::bench

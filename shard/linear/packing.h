#pragma once

#include <cstdint>
#include <vector>

#include "shard/linear/linear.h"
#include "shard/linear/precision.h"
#include "shard/runtime/thread_pool.h"

namespace scorecast::shard {

/// How and with what weights are packed.
struct Packing {
  GemmBackend& backend;
  Precision precision;
  ThreadPool& pool;
  TileScratch& scratch;
};

/// Number of outputs of one chunk of a weight: wide enough for a library to run well, narrow enough
/// that a small layer still makes several tasks.
inline constexpr std::int64_t kChunkOutputs = 256;

/// Widths of the chunks that `outputs` outputs are cut into: `width` each, then the remainder. A
/// remainder too narrow to be worth a product joins the chunk before it.
std::vector<std::int64_t> Chunks(std::int64_t outputs, std::int64_t width);

/// Bytes of a packed weight [out, in] whose numbers take `weight_size` bytes each (see
/// BackendEntry::WeightSize), without the padding that a library's layout may have.
std::int64_t PackedBytes(Precision precision, std::int64_t weight_size, std::int64_t out,
                         std::int64_t in);

}  // namespace scorecast::shard

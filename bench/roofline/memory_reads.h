#pragma once

#include <cstdint>

#include "shard/runtime/aligned_buffer.h"
#include "shard/runtime/thread_pool.h"

namespace scorecast::bench {

/// A size several times larger than the caches, so that reads of such a buffer come from memory.
std::int64_t BytesBeyondCaches();

/// A buffer that the threads of a pool read once and sum up, divided among them like the weight of
/// a product. Every step of a completion reads every weight once, so this rate is its limit.
class MemoryReads {
 public:
  /// `bytes` is rounded up to whole pieces.
  MemoryReads(std::int64_t bytes, shard::ThreadPool& pool);

  std::int64_t words() const { return static_cast<std::int64_t>(words_.size()); }

  /// Reads the buffer once. Returns the sum of its words, which are 0, 1, 2, …
  std::uint64_t Sum();

  /// The highest rate of a few reads of the buffer.
  double BytesPerSecond();

 private:
  std::int64_t pieces() const;

  shard::ThreadPool& pool_;
  shard::AlignedBuffer<std::uint64_t> words_;
};

}  // namespace scorecast::bench

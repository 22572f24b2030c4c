#pragma once

#include <cstdint>

#include "shard/runtime/aligned_buffer.h"
#include "shard/runtime/thread_pool.h"

namespace scorecast::bench {

/// Several times larger than the caches: what is read of such a buffer comes from memory.
std::int64_t BytesBeyondCaches();

/// A buffer that all threads of a pool read from end to end and sum up, dealt out to them as a
/// product's weight is: what a step of an answer, which reads every weight once, can take at best.
class MemoryReads {
 public:
  /// `bytes` is rounded up to whole pieces.
  MemoryReads(std::int64_t bytes, shard::ThreadPool& pool);

  std::int64_t words() const { return static_cast<std::int64_t>(words_.size()); }

  /// One reading: the sum of the words, which are 0, 1, 2, …
  std::uint64_t Sum();

  /// The most of a few readings.
  double BytesPerSecond();

 private:
  std::int64_t pieces() const;

  shard::ThreadPool& pool_;
  shard::AlignedBuffer<std::uint64_t> words_;
};

}  // namespace scorecast::bench

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "proto/base/range.h"

namespace scorecast::shard {

/// A block of a file of which any parts are hashed in any order, also more than once, by any number
/// of threads. Each byte counts once.
class HashedBlock {
 public:
  explicit HashedBlock(proto::Range bytes) : bytes_(bytes) {}

  /// Where the block lies in its file.
  proto::Range bytes() const { return bytes_; }

  /// Hashes what lies in the block, and is not hashed yet, of the file's bytes from `offset` on.
  void Add(std::int64_t offset, std::span<const std::byte> bytes);

  /// The parts that are not hashed yet, and that no thread is hashing, in their order.
  std::vector<proto::Range> Missing() const;

  /// The remainder (crc32c.h) of the block, with zeros in the place of what is missing. Called when
  /// no Add is under way.
  std::uint32_t remainder() const { return remainder_; }

 private:
  /// The parts of a range that are not hashed yet; mutex_ is held.
  std::vector<proto::Range> MissingOf(proto::Range range) const;

  const proto::Range bytes_;
  mutable std::mutex mutex_;
  std::vector<proto::Range> hashed_;  // Sorted, with bytes between them. Guarded by mutex_.
  std::atomic<std::uint32_t> remainder_ = 0;
};

}  // namespace scorecast::shard

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "proto/base/range.h"

namespace scorecast::shard {

/// A block of a file. Any number of threads may hash parts of it, in any order and more than once;
/// each byte counts only once.
class HashedBlock {
 public:
  explicit HashedBlock(proto::Range bytes) : bytes_(bytes) {}

  /// The block's range of bytes in its file.
  proto::Range bytes() const { return bytes_; }

  /// Hashes those of the bytes from `offset` of the file on that lie in the block and are not
  /// hashed yet.
  void Add(std::int64_t offset, std::span<const std::byte> bytes);

  /// The parts that are neither hashed nor being hashed, in ascending order.
  std::vector<proto::Range> Missing() const;

  /// The CRC remainder (crc32c.h) of the block in which bytes not hashed yet are zeros. Called when
  /// no Add is under way.
  std::uint32_t remainder() const { return remainder_; }

 private:
  /// The parts of a range that are not hashed yet; mutex_ is held.
  std::vector<proto::Range> MissingOf(proto::Range range) const;

  const proto::Range bytes_;
  mutable std::mutex mutex_;
  std::vector<proto::Range> hashed_;  // Sorted; no two ranges touch. Guarded by mutex_.
  std::atomic<std::uint32_t> remainder_ = 0;
};

}  // namespace scorecast::shard

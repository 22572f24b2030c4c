#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "shard/checkpoint/read_ahead.h"
#include "shard/checkpoint/weight_file.h"
#include "shard/runtime/thread_pool.h"

namespace scorecast::shard {

/// The size of the blocks that are divided among the ranks. The last one of a file may be shorter.
inline constexpr std::int64_t kHashBlock = ReadAhead::kBlock;

/// The blocks that a rank hashes in each step of loading. `steps_of(r)` are the parts that rank r
/// reads in each step; all ranks have the same number of steps, at least one. Each block of every
/// file belongs to one rank: to the one that reads most of it, so that a host need not read it for
/// its checksum alone. Ranks that read as much of a block take turns, also if that is nothing.
/// Every rank comes to the same result if its files have the same sizes and headers.
std::vector<std::vector<FilePart>> BlocksToHash(
    const std::vector<const WeightFile*>& files,
    const std::function<std::vector<std::vector<FilePart>>(int rank)>& steps_of, int rank,
    int ranks);

/// What a rank contributes to the checksums of files: see crc32c.h. While it lives, it sees what is
/// read from them, so that most bytes are hashed when they are in a core's cache anyway, and are
/// not read again.
class ChecksumShare {
 public:
  /// `steps` are the blocks of this rank. The files must outlive this object. Made and destroyed
  /// while nothing is read.
  ChecksumShare(const std::vector<const WeightFile*>& files,
                std::vector<std::vector<FilePart>> steps);
  ~ChecksumShare();
  ChecksumShare(const ChecksumShare&) = delete;
  ChecksumShare& operator=(const ChecksumShare&) = delete;

  const std::vector<std::vector<FilePart>>& steps() const { return steps_; }

  /// Reads and hashes what is missing of the blocks of a step. Throws FileChanged.
  void HashStep(std::int64_t step, ThreadPool& pool);

  /// For each file, the remainder of this rank's blocks with zeros in the place of all others.
  /// Called after all steps.
  std::vector<std::uint32_t> remainders() const;

 private:
  class FileBlocks;

  const std::vector<std::vector<FilePart>> steps_;
  std::vector<std::unique_ptr<FileBlocks>> files_;
};

}  // namespace scorecast::shard

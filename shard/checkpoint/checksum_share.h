#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "shard/checkpoint/read_ahead.h"
#include "shard/checkpoint/weight_file.h"
#include "shard/runtime/thread_pool.h"

namespace scorecast::shard {

/// Size of the blocks that are divided among the ranks. The last block of a file may be shorter.
inline constexpr std::int64_t kHashBlock = ReadAhead::kBlock;

/// The blocks that a rank hashes in each step of loading. `steps_of(r)` are the parts that rank r
/// reads in each step. All ranks have the same number of steps, at least one.
///
/// Each block of every file belongs to one rank: the rank that reads most of the block, so that its
/// host need not read the block for the checksum alone. If several ranks read equally much of a
/// block, or nothing, they take turns. All ranks get the same result if their files have the same
/// sizes and headers.
std::vector<std::vector<FilePart>> BlocksToHash(
    const std::vector<const WeightFile*>& files,
    const std::function<std::vector<std::vector<FilePart>>(int rank)>& steps_of, int rank,
    int ranks);

/// One rank's contribution to the checksums of files: see crc32c.h. While this object lives, it
/// observes the reads of these files, so that most bytes are hashed while they are in a core's
/// cache, and need not be read again.
class ChecksumShare {
 public:
  /// `steps` are the blocks of this rank. The files must outlive this object. No file may be read
  /// while this object is made or destroyed.
  ChecksumShare(const std::vector<const WeightFile*>& files,
                std::vector<std::vector<FilePart>> steps);
  ~ChecksumShare();
  ChecksumShare(const ChecksumShare&) = delete;
  ChecksumShare& operator=(const ChecksumShare&) = delete;

  const std::vector<std::vector<FilePart>>& steps() const { return steps_; }

  /// Reads and hashes the parts of a step's blocks that are not hashed yet. Throws FileChanged.
  void HashStep(std::int64_t step, ThreadPool& pool);

  /// For each file, the CRC remainder of the file in which all blocks of other ranks are replaced
  /// by zeros. Called after all steps.
  std::vector<std::uint32_t> remainders() const;

 private:
  class FileBlocks;

  const std::vector<std::vector<FilePart>> steps_;
  std::vector<std::unique_ptr<FileBlocks>> files_;
};

}  // namespace scorecast::shard

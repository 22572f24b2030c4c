#include "shard/checkpoint/checksum_share.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

#include "proto/base/check.h"
#include "shard/checkpoint/crc32c.h"

namespace scorecast::shard {
namespace {

using proto::Range;
using Steps = std::vector<std::vector<FilePart>>;

std::size_t IndexOf(const std::vector<const WeightFile*>& files, const WeightFile* file) {
  const auto found = std::ranges::find(files, file);
  proto::Check(found != files.end(), "the parts lie in the checkpoint's files");
  return static_cast<std::size_t>(found - files.begin());
}

/// Numbers of all blocks, file after file.
class BlockNumbers {
 public:
  explicit BlockNumbers(const std::vector<const WeightFile*>& files) : files_(files) {
    for (const WeightFile* file : files) {
      first_.push_back(count_);
      count_ += (file->size() + kHashBlock - 1) / kHashBlock;
    }
  }

  std::size_t count() const { return static_cast<std::size_t>(count_); }

  /// Calls visit(block, bytes) for each block of which a part has any bytes.
  template <typename Visit>
  void ForEach(const FilePart& part, const Visit& visit) const {
    const std::int64_t first = first_[IndexOf(files_, part.file)];
    for (std::int64_t at = part.bytes.begin; at < part.bytes.end;) {
      const std::int64_t block = at / kHashBlock;
      const std::int64_t end = std::min(part.bytes.end, (block + 1) * kHashBlock);
      visit(static_cast<std::size_t>(first + block), end - at);
      at = end;
    }
  }

  /// Calls visit(block, part) for every block, in the order of their numbers.
  template <typename Visit>
  void ForAll(const Visit& visit) const {
    std::size_t block = 0;
    for (const WeightFile* file : files_) {
      for (std::int64_t at = 0; at < file->size(); at += kHashBlock) {
        visit(block++, FilePart{file, {at, std::min(file->size(), at + kHashBlock)}});
      }
    }
  }

 private:
  const std::vector<const WeightFile*>& files_;
  std::vector<std::int64_t> first_;  // Of each file.
  std::int64_t count_ = 0;
};

/// Which rank hashes each block.
std::vector<int> OwnersOf(const BlockNumbers& blocks,
                          const std::function<Steps(int rank)>& steps_of, int ranks) {
  std::vector<int> owners(blocks.count(), 0);
  std::vector<std::int64_t> most(blocks.count(), -1);
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<FilePart> parts;
    for (std::vector<FilePart>& step : steps_of(rank)) {
      std::ranges::move(step, std::back_inserter(parts));
    }
    std::vector<std::int64_t> bytes(blocks.count(), 0);
    for (const FilePart& part : Merge(std::move(parts))) {
      blocks.ForEach(part, [&](std::size_t block, std::int64_t size) { bytes[block] += size; });
    }
    for (std::size_t block = 0; block < owners.size(); ++block) {
      // The first one of a round that begins at another rank for each block.
      const auto turn = [&](int of) {
        return (static_cast<std::size_t>(of + ranks) - block % static_cast<std::size_t>(ranks)) %
               static_cast<std::size_t>(ranks);
      };
      if (bytes[block] > most[block] ||
          (bytes[block] == most[block] && turn(rank) < turn(owners[block]))) {
        owners[block] = rank;
        most[block] = bytes[block];
      }
    }
  }
  return owners;
}

}  // namespace

std::vector<std::vector<FilePart>> BlocksToHash(const std::vector<const WeightFile*>& files,
                                                const std::function<Steps(int rank)>& steps_of,
                                                int rank, int ranks) {
  const BlockNumbers blocks(files);
  const std::vector<int> owners = OwnersOf(blocks, steps_of, ranks);
  const Steps parts = steps_of(rank);
  // In the step in which the rank first reads a part of the block.
  std::vector<std::optional<std::size_t>> step_of(blocks.count());
  for (std::size_t step = parts.size(); step-- > 0;) {
    for (const FilePart& part : parts[step]) {
      blocks.ForEach(part, [&](std::size_t block, std::int64_t) { step_of[block] = step; });
    }
  }
  Steps steps(parts.size());
  std::vector<FilePart> others;
  blocks.ForAll([&](std::size_t block, const FilePart& part) {
    if (owners[block] == rank) {
      (step_of[block] ? steps[*step_of[block]] : others).push_back(part);
    }
  });
  // Evenly, so that no step waits long for bytes that only the checksum needs.
  for (std::size_t i = 0; i < others.size(); ++i) {
    steps[i * steps.size() / others.size()].push_back(others[i]);
  }
  return steps;
}

ChecksumShare::ChecksumShare(std::vector<const WeightFile*> files,
                             std::vector<std::vector<FilePart>> steps)
    : files_(std::move(files)), steps_(std::move(steps)), remainders_(files_.size(), 0) {}

void ChecksumShare::HashStep(std::int64_t step, ThreadPool& pool) {
  constexpr std::size_t kBuffer = std::size_t{64} << 10;
  const std::vector<FilePart>& blocks = steps_[static_cast<std::size_t>(step)];
  std::vector<std::uint32_t> remainders(blocks.size());
  pool.ParallelFor(static_cast<std::int64_t>(blocks.size()), [&](std::int64_t i, int) {
    const FilePart& block = blocks[static_cast<std::size_t>(i)];
    std::array<std::byte, kBuffer> buffer;
    std::uint32_t remainder = 0;
    for (std::int64_t at = block.bytes.begin; at < block.bytes.end;) {
      const std::span<std::byte> bytes = std::span(buffer).first(
          std::min(kBuffer, static_cast<std::size_t>(block.bytes.end - at)));
      block.file->Read(at, bytes);
      remainder = CrcRemainder(remainder, bytes);
      at += static_cast<std::int64_t>(bytes.size());
    }
    remainders[static_cast<std::size_t>(i)] =
        WithZerosBehind(remainder, block.file->size() - block.bytes.end);
  });
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    remainders_[IndexOf(files_, blocks[i].file)] ^= remainders[i];
  }
}

}  // namespace scorecast::shard

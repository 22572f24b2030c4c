#include "shard/checkpoint/checksum_share.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "proto/base/check.h"
#include "shard/checkpoint/crc32c.h"
#include "shard/checkpoint/hashed_block.h"

namespace scorecast::shard {
namespace {

using proto::Range;
using Steps = std::vector<std::vector<FilePart>>;

std::size_t IndexOf(const std::vector<const WeightFile*>& files, const WeightFile* file) {
  const auto found = std::ranges::find(files, file);
  proto::Check(found != files.end(), "the parts lie in the checkpoint's files");
  return static_cast<std::size_t>(found - files.begin());
}

std::int64_t BlocksOf(const WeightFile& file) {
  return (file.size() + kHashBlock - 1) / kHashBlock;
}

/// Numbers of all blocks, file after file.
class BlockNumbers {
 public:
  explicit BlockNumbers(const std::vector<const WeightFile*>& files) : files_(files) {
    for (const WeightFile* file : files) {
      first_.push_back(count_);
      count_ += BlocksOf(*file);
    }
  }

  std::size_t count() const { return static_cast<std::size_t>(count_); }

  /// Calls visit(block, bytes) for each block that contains bytes of the part; `bytes` is their
  /// number.
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
  std::vector<std::int64_t> first_;  // Number of the first block of each file.
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
      // Position of a rank in a round of all ranks, which begins at another rank for each block.
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
  // A block is hashed in the step in which the rank last reads a part of it.
  std::vector<std::optional<std::size_t>> step_of(blocks.count());
  for (std::size_t step = 0; step < parts.size(); ++step) {
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
  // The blocks that this rank does not read otherwise are spread evenly, so that no step waits long
  // for bytes that only the checksum needs.
  for (std::size_t i = 0; i < others.size(); ++i) {
    steps[i * steps.size() / others.size()].push_back(others[i]);
  }
  return steps;
}

/// The blocks of one file that this rank hashes.
class ChecksumShare::FileBlocks : public WeightFile::Observer {
 public:
  explicit FileBlocks(const WeightFile& file)
      : file_(file), blocks_(static_cast<std::size_t>(BlocksOf(file))) {
    file.LetSee(this);
  }
  ~FileBlocks() override { file_.LetSee(nullptr); }
  FileBlocks(const FileBlocks&) = delete;
  FileBlocks& operator=(const FileBlocks&) = delete;

  const WeightFile& file() const { return file_; }

  void Own(Range bytes) {
    blocks_[static_cast<std::size_t>(bytes.begin / kHashBlock)] =
        std::make_unique<HashedBlock>(bytes);
  }

  void Saw(std::int64_t offset, std::span<const std::byte> bytes) override {
    // Small reads are not hashed: reading their blocks again as a whole is faster. Reads of parts
    // of rows are small.
    constexpr std::size_t kLeastBytes = std::size_t{16} << 10;
    if (bytes.size() >= kLeastBytes) {
      Add(offset, bytes);
    }
  }

  /// Reads and hashes the parts not hashed yet of the block that begins at `begin`.
  void Complete(std::int64_t begin) {
    constexpr std::int64_t kBuffer = std::int64_t{64} << 10;
    std::array<std::byte, kBuffer> buffer;
    for (Range missing : blocks_[static_cast<std::size_t>(begin / kHashBlock)]->Missing()) {
      while (!missing.empty()) {
        const std::span<std::byte> bytes =
            std::span(buffer).first(static_cast<std::size_t>(std::min(kBuffer, missing.size())));
        file_.Read(missing.begin, bytes);
        Add(missing.begin, bytes);  // Does nothing if Saw has hashed these bytes during this read.
        missing.begin += static_cast<std::int64_t>(bytes.size());
      }
    }
  }

  std::uint32_t remainder() const {
    std::uint32_t sum = 0;
    for (const std::unique_ptr<HashedBlock>& block : blocks_) {
      if (block != nullptr) {
        proto::Check(block->Missing().empty(), "every step was hashed");
        sum ^= WithZerosBehind(block->remainder(), file_.size() - block->bytes().end);
      }
    }
    return sum;
  }

 private:
  void Add(std::int64_t offset, std::span<const std::byte> bytes) {
    const std::int64_t end = offset + static_cast<std::int64_t>(bytes.size());
    for (std::int64_t block = offset / kHashBlock; block * kHashBlock < end; ++block) {
      if (const auto& owned = blocks_[static_cast<std::size_t>(block)]; owned != nullptr) {
        owned->Add(offset, bytes);
      }
    }
  }

  const WeightFile& file_;
  std::vector<std::unique_ptr<HashedBlock>> blocks_;  // Null if another rank has the block.
};

ChecksumShare::ChecksumShare(const std::vector<const WeightFile*>& files,
                             std::vector<std::vector<FilePart>> steps)
    : steps_(std::move(steps)) {
  for (const WeightFile* file : files) {
    files_.push_back(std::make_unique<FileBlocks>(*file));
  }
  for (const std::vector<FilePart>& step : steps_) {
    for (const FilePart& block : step) {
      files_[IndexOf(files, block.file)]->Own(block.bytes);
    }
  }
}

ChecksumShare::~ChecksumShare() = default;

void ChecksumShare::HashStep(std::int64_t step, ThreadPool& pool) {
  const std::vector<FilePart>& blocks = steps_[static_cast<std::size_t>(step)];
  pool.ParallelFor(static_cast<std::int64_t>(blocks.size()), [&](std::int64_t i, int) {
    const FilePart& block = blocks[static_cast<std::size_t>(i)];
    const auto file = std::ranges::find_if(
        files_, [&](const auto& blocks_of) { return &blocks_of->file() == block.file; });
    (*file)->Complete(block.bytes.begin);
  });
}

std::vector<std::uint32_t> ChecksumShare::remainders() const {
  std::vector<std::uint32_t> remainders;
  for (const std::unique_ptr<FileBlocks>& file : files_) {
    remainders.push_back(file->remainder());
  }
  return remainders;
}

}  // namespace scorecast::shard

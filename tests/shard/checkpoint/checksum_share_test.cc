// Every byte of every file is hashed by one rank, and the ranks together have the files' checksums.

#include "shard/checkpoint/checksum_share.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "shard/checkpoint/crc32c.h"
#include "tests/shard/checkpoint/model_files.h"

namespace scorecast::shard {
namespace checksum_share_test {

using StepParts = std::vector<std::vector<FilePart>>;

class ChecksumShares : public ::testing::Test {
 protected:
  const WeightFile* AddFile(std::int64_t size) {
    std::string bytes(static_cast<std::size_t>(size), ' ');
    for (std::size_t i = 0; i < bytes.size(); i += 97) {
      bytes[i] = static_cast<char>(random());
    }
    const std::string name = std::to_string(files.size());
    dir.Write(name, bytes);
    contents.push_back(bytes);
    owned.push_back(std::make_unique<const WeightFile>(dir.path() / name));
    files.push_back(owned.back().get());
    return files.back();
  }

  /// Reads a part as a step of loading does, in larger and smaller pieces.
  void Load(const FilePart& part) {
    std::vector<std::byte> buffer(30'000);
    for (std::int64_t at = part.bytes.begin; at < part.bytes.end;) {
      const std::int64_t size = std::min<std::int64_t>(
          part.bytes.end - at, 1 + static_cast<std::int64_t>(random()) % 30'000);
      part.file->Read(at, std::span(buffer).first(static_cast<std::size_t>(size)));
      at += size;
    }
  }

  /// The files' checksums, from the shares of all ranks.
  std::vector<std::uint32_t> Combined(const std::vector<StepParts>& slices) {
    const int ranks = static_cast<int>(slices.size());
    std::vector<std::uint32_t> sums(files.size(), 0);
    for (int rank = 0; rank < ranks; ++rank) {
      ChecksumShare share(files, Blocks(slices, rank));
      for (std::size_t step = 0; step < share.steps().size(); ++step) {
        for (const FilePart& part : slices[static_cast<std::size_t>(rank)][step]) {
          Load(part);
        }
        share.HashStep(static_cast<std::int64_t>(step), pool);
      }
      for (std::size_t i = 0; i < files.size(); ++i) {
        sums[i] ^= share.remainders()[i];
      }
    }
    for (std::size_t i = 0; i < files.size(); ++i) {
      sums[i] = Crc32cOfRemainder(sums[i], files[i]->size());
    }
    return sums;
  }

  std::vector<std::uint32_t> Direct() const {
    std::vector<std::uint32_t> direct;
    for (const std::string& bytes : contents) {
      direct.push_back(Crc32cOfRemainder(CrcRemainder(0, std::as_bytes(std::span(bytes))),
                                         static_cast<std::int64_t>(bytes.size())));
    }
    return direct;
  }

  StepParts Blocks(const std::vector<StepParts>& slices, int rank) const {
    return BlocksToHash(
        files, [&](int of) { return slices[static_cast<std::size_t>(of)]; }, rank,
        static_cast<int>(slices.size()));
  }

  TempDir dir;
  std::mt19937 random{3};
  std::vector<std::string> contents;
  std::vector<std::unique_ptr<const WeightFile>> owned;
  std::vector<const WeightFile*> files;
  ThreadPool pool{2};
};

TEST_F(ChecksumShares, TogetherAreTheChecksumsWhateverTheRanksRead) {
  for (const std::int64_t size : {std::int64_t{1}, kHashBlock, 3 * kHashBlock + 1000,
                                  2 * kHashBlock - 1, std::int64_t{70'000}}) {
    AddFile(size);
  }
  for (const int ranks : {1, 2, 3, 5, 8}) {
    SCOPED_TRACE(ranks);
    std::vector<StepParts> slices(static_cast<std::size_t>(ranks), StepParts(3));
    for (StepParts& steps : slices) {
      for (std::vector<FilePart>& step : steps) {
        for (unsigned part = random() % 4; part > 0; --part) {
          const WeightFile* file = files[random() % files.size()];
          const auto begin = static_cast<std::int64_t>(random()) % file->size();
          const auto size = static_cast<std::int64_t>(random()) % (file->size() - begin + 1);
          step.push_back({file, {begin, begin + size}});
        }
      }
    }
    EXPECT_EQ(Combined(slices), Direct());
    std::vector<FilePart> all;
    for (int rank = 0; rank < ranks; ++rank) {
      for (const std::vector<FilePart>& step : Blocks(slices, rank)) {
        all.insert(all.end(), step.begin(), step.end());
      }
    }
    std::int64_t hashed = 0;
    for (const FilePart& part : all) {
      hashed += part.bytes.size();
    }
    std::int64_t present = 0;
    for (const WeightFile* file : files) {
      present += file->size();
    }
    EXPECT_EQ(hashed, present) << "each byte once";
    EXPECT_EQ(Merge(all).size(), files.size()) << "each byte";
  }
}

TEST_F(ChecksumShares, ARankHashesWhatItReadsInTheStepThatReadsIt) {
  const WeightFile* file = AddFile(8 * kHashBlock);
  const auto part = [&](std::int64_t begin, std::int64_t end) {
    return FilePart{file, {begin * kHashBlock / 4, end * kHashBlock / 4}};
  };
  // In quarters of blocks. Both ranks read blocks 0 and 1. Most of block 4 is read by rank 1.
  // Nobody reads blocks 5 to 7.
  const std::vector<StepParts> slices = {{{part(0, 8)}, {part(8, 12), part(16, 17)}},
                                         {{part(0, 8)}, {part(12, 16), part(17, 20)}}};
  const auto numbers = [&](int rank) {
    std::vector<std::vector<std::int64_t>> steps;
    for (const std::vector<FilePart>& step : Blocks(slices, rank)) {
      std::vector<std::int64_t>& blocks = steps.emplace_back();
      for (const FilePart& block : step) {
        blocks.push_back(block.bytes.begin / kHashBlock);
        EXPECT_EQ(block.bytes.size(), kHashBlock);
      }
    }
    return steps;
  };
  using Numbers = std::vector<std::vector<std::int64_t>>;
  EXPECT_EQ(numbers(0), (Numbers{{0, 6}, {2}}));
  EXPECT_EQ(numbers(1), (Numbers{{1, 5}, {3, 4, 7}}));
}

TEST_F(ChecksumShares, EveryByteCounts) {
  AddFile(2 * kHashBlock + 5);
  const std::vector<StepParts> slices(3, StepParts(1));
  const std::vector<std::uint32_t> before = Combined(slices);
  for (const std::size_t at : {std::size_t{0}, static_cast<std::size_t>(kHashBlock) - 1,
                               static_cast<std::size_t>(kHashBlock), contents[0].size() - 1}) {
    std::string edited = contents[0];
    edited[at] ^= 1;
    dir.Write("0", edited);
    EXPECT_NE(Combined(slices), before) << at;
  }
  dir.Write("0", contents[0]);
  EXPECT_EQ(Combined(slices), before);
}

TEST_F(ChecksumShares, BytesThatWereReadAreNotReadAgain) {
  AddFile(2 * kHashBlock + 100'000);
  const std::vector<std::uint32_t> direct = Direct();
  ChecksumShare share(files, Blocks({StepParts(1)}, 0));
  std::vector<std::byte> whole(contents[0].size());
  files[0]->Read(0, whole);
  dir.Write("0", std::string(contents[0].size(), 'x'));
  share.HashStep(0, pool);
  EXPECT_EQ(Crc32cOfRemainder(share.remainders()[0], files[0]->size()), direct[0])
      << "the bytes are those of the first read";
}

}  // namespace checksum_share_test
}  // namespace scorecast::shard

// Each byte of a block counts once, in whatever parts it comes.

#include "shard/checkpoint/hashed_block.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "shard/checkpoint/crc32c.h"

namespace scorecast::shard {
namespace hashed_block_test {

using proto::Range;

constexpr std::int64_t kBlockBegin = 1000;
constexpr std::int64_t kBlockEnd = 9000;

std::string FileAroundTheBlock() {
  std::mt19937 random(4);
  std::string file(10'000, ' ');
  std::ranges::generate(file, [&] { return static_cast<char>(random()); });
  return file;
}

void AddPart(const std::string& file, Range part, HashedBlock& block) {
  const std::string_view bytes = std::string_view(file).substr(
      static_cast<std::size_t>(part.begin), static_cast<std::size_t>(part.size()));
  block.Add(part.begin, std::as_bytes(std::span(bytes)));
}

std::uint32_t RemainderOfBlock(const std::string& file) {
  const std::string_view bytes =
      std::string_view(file).substr(kBlockBegin, kBlockEnd - kBlockBegin);
  return CrcRemainder(0, std::as_bytes(std::span(bytes)));
}

Range RandomPart(std::mt19937& random, std::int64_t most) {
  const auto begin = static_cast<std::int64_t>(random() % 10'000);
  return {begin,
          begin + static_cast<std::int64_t>(random()) % (std::min(most, 10'000 - begin) + 1)};
}

TEST(HashedBlock, PartsMayOverlapAndReachBeyondIt) {
  const std::string file = FileAroundTheBlock();
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    HashedBlock block({kBlockBegin, kBlockEnd});
    std::vector<bool> is_hashed(file.size(), false);
    for (int i = 0; i < 20; ++i) {
      const Range part = RandomPart(random, 2000);
      AddPart(file, part, block);
      std::fill(is_hashed.begin() + part.begin, is_hashed.begin() + part.end, true);
      std::vector<bool> is_missing(file.size(), false);
      for (const Range missing : block.Missing()) {
        EXPECT_LT(missing.begin, missing.end);
        std::fill(is_missing.begin() + missing.begin, is_missing.begin() + missing.end, true);
      }
      std::vector<bool> expected = is_hashed;
      expected.flip();
      std::fill_n(expected.begin(), kBlockBegin, false);
      std::fill(expected.begin() + kBlockEnd, expected.end(), false);
      ASSERT_EQ(is_missing, expected) << seed;
    }
    for (const Range missing : block.Missing()) {
      AddPart(file, missing, block);
    }
    EXPECT_TRUE(block.Missing().empty());
    EXPECT_EQ(block.remainder(), RemainderOfBlock(file)) << seed;
    AddPart(file, {0, std::ssize(file)}, block);
    EXPECT_EQ(block.remainder(), RemainderOfBlock(file)) << "all is hashed already";
  }
}

TEST(HashedBlock, ThreadsMayAddTheSameParts) {
  const std::string file = FileAroundTheBlock();
  HashedBlock block({kBlockBegin, kBlockEnd});
  {
    std::vector<std::jthread> threads;
    for (unsigned seed = 0; seed < 3; ++seed) {
      threads.emplace_back([&file, &block, seed] {
        std::mt19937 random(seed);
        for (int i = 0; i < 500; ++i) {
          AddPart(file, RandomPart(random, 300), block);
        }
        AddPart(file, {0, std::ssize(file)}, block);
      });
    }
  }
  EXPECT_EQ(block.remainder(), RemainderOfBlock(file));
}

}  // namespace hashed_block_test
}  // namespace scorecast::shard

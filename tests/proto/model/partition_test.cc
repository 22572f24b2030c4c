#include "proto/model/partition.h"

#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/base/error.h"

namespace scorecast::proto {
namespace partition_test {

using ::testing::AllOf;
using ::testing::HasSubstr;

ModelConfig Config(std::int64_t heads, std::int64_t kv_heads, std::int64_t intermediate,
                   std::int64_t vocabulary) {
  ModelConfig config;
  config.num_attention_heads = heads;
  config.num_key_value_heads = kv_heads;
  config.head_dim = 8;
  config.hidden_size = heads * 8;
  config.intermediate_size = intermediate;
  config.vocab_size = vocabulary;
  return config;
}

std::vector<Partition> All(const ModelConfig& config, int size,
                           Sharding sharding = Sharding::kEven) {
  std::vector<Partition> parts;
  for (int rank = 0; rank < size; ++rank) {
    parts.push_back(MakePartition(config, rank, size, sharding));
  }
  return parts;
}

/// Expects that the ranges follow each other from 0 to `count`, so that everything is covered
/// exactly once.
void ExpectDealsOut(const std::vector<Partition>& parts, Range Partition::*range,
                    std::int64_t count) {
  std::int64_t end = 0;
  for (const Partition& part : parts) {
    EXPECT_EQ((part.*range).begin, end);
    EXPECT_LE((part.*range).begin, (part.*range).end);
    end = (part.*range).end;
  }
  EXPECT_EQ(end, count);
}

TEST(PartitionTest, EveryHeadColumnAndTokenIsOnExactlyOneRank) {
  // Nine query and three K/V heads; the sizes are not multiples of the grain.
  const ModelConfig config = Config(9, 3, 117, 325);
  for (int size = 1; size <= 9; ++size) {
    SCOPED_TRACE(size);
    const std::vector<Partition> parts = All(config, size);
    ExpectDealsOut(parts, &Partition::heads, 9);
    ExpectDealsOut(parts, &Partition::intermediate, 117);
    ExpectDealsOut(parts, &Partition::vocabulary, 325);
    for (const Partition& part : parts) {
      EXPECT_FALSE(part.heads.empty());
      EXPECT_LE(part.heads.size(), (9 + size - 1) / size);
      EXPECT_GE(part.heads.size(), 9 / size);
      EXPECT_TRUE(part.intermediate.begin % kPartitionGrain == 0 || part.intermediate.empty());
      EXPECT_TRUE(part.vocabulary.begin % kPartitionGrain == 0 || part.vocabulary.empty());
    }
  }
}

TEST(PartitionTest, ARankHoldsTheKeyValueHeadsOfItsQueryHeads) {
  const ModelConfig config = Config(9, 3, 112, 320);
  for (int size = 1; size <= 9; ++size) {
    for (const Partition& part : All(config, size)) {
      for (std::int64_t kv = 0; kv < 3; ++kv) {
        bool used = false;
        for (std::int64_t head = part.heads.begin; head < part.heads.end; ++head) {
          used = used || head / 3 == kv;
        }
        EXPECT_EQ(part.kv_heads.Contains(kv), used) << "K/V head " << kv << " of " << size;
      }
    }
  }
}

TEST(PartitionTest, NineHeadsOnFourRanks) {
  const std::vector<Partition> parts = All(Config(9, 3, 112, 320), 4);
  EXPECT_EQ(parts[0].heads, (Range{0, 3}));
  EXPECT_EQ(parts[1].heads, (Range{3, 5}));
  EXPECT_EQ(parts[2].heads, (Range{5, 7}));
  EXPECT_EQ(parts[3].heads, (Range{7, 9}));
  EXPECT_EQ(parts[0].kv_heads, (Range{0, 1}));
  EXPECT_EQ(parts[1].kv_heads, (Range{1, 2}));
  EXPECT_EQ(parts[2].kv_heads, (Range{1, 3}));  // Shares K/V head 1 with rank 1, 2 with rank 3.
  EXPECT_EQ(parts[3].kv_heads, (Range{2, 3}));
}

TEST(PartitionTest, RanksWithoutAGrainHoldNothing) {
  // Three grains and two grains.
  const std::vector<Partition> parts = All(Config(9, 3, 40, 17), 9);
  for (int rank = 0; rank < 9; ++rank) {
    EXPECT_EQ(parts[rank].intermediate.empty(), rank >= 3) << rank;
    EXPECT_EQ(parts[rank].vocabulary.empty(), rank >= 2) << rank;
  }
  EXPECT_EQ(parts[2].intermediate, (Range{32, 40}));
  EXPECT_EQ(parts[1].vocabulary, (Range{16, 17}));
}

// The ranks of a classifier share its classes, not the vocabulary.
TEST(PartitionTest, RanksWithoutAClassHoldNoneOfTheHead) {
  ModelConfig config = Config(9, 3, 112, 320);
  config.num_labels = 1;
  std::vector<Partition> parts = All(config, 3);
  EXPECT_EQ(parts[0].vocabulary, (Range{0, 1}));
  EXPECT_TRUE(parts[1].vocabulary.empty());
  EXPECT_TRUE(parts[2].vocabulary.empty());
  config.num_labels = 40;
  parts = All(config, 2);
  EXPECT_EQ(parts[0].vocabulary, (Range{0, 32}));
  EXPECT_EQ(parts[1].vocabulary, (Range{32, 40}));
}

TEST(PartitionTest, MoreRanksThanHeadsAreRefusedWithBothNumbers) {
  try {
    MakePartition(Config(9, 3, 112, 320), 0, 10);
    FAIL() << "accepted";
  } catch (const StartupError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("9 query heads"), HasSubstr("10 ranks")));
  }
}

TEST(PartitionTest, AnEvenShareIsOneBlock) {
  for (const Partition& part : All(Config(9, 3, 117, 325), 4)) {
    EXPECT_EQ(part.head_blocks.size(), 1);
    EXPECT_EQ(part.head_blocks.range(), part.heads);
    EXPECT_EQ(part.intermediate_blocks.range(), part.intermediate);
    EXPECT_EQ(part.vocabulary_blocks.range(), part.vocabulary);
  }
}

/// The blocks of all ranks, in order.
std::vector<Range> BlocksOf(const std::vector<Partition>& parts, Blocks Partition::*dimension) {
  std::vector<Range> blocks;
  for (const Partition& part : parts) {
    const Blocks& own = part.*dimension;
    EXPECT_EQ(own.first, static_cast<std::int64_t>(blocks.size()));
    for (std::int64_t i = 0; i < own.size(); ++i) {
      blocks.push_back(own[i]);
    }
  }
  return blocks;
}

TEST(PartitionTest, BlocksAreTheSameForAnyNumberOfRanks) {
  for (const ModelConfig& config : {Config(9, 3, 117, 325), Config(16, 8, 3072, 32000),
                                    Config(14, 2, 4864, 151936 + 7), Config(12, 12, 40, 17)}) {
    const std::vector<Partition> alone = All(config, 1, Sharding::kInBlocks);
    for (int size = 1; size <= config.num_attention_heads; ++size) {
      SCOPED_TRACE(size);
      const std::vector<Partition> parts = All(config, size, Sharding::kInBlocks);
      ExpectDealsOut(parts, &Partition::heads, config.num_attention_heads);
      ExpectDealsOut(parts, &Partition::intermediate, config.intermediate_size);
      ExpectDealsOut(parts, &Partition::vocabulary, config.vocab_size);
      for (const auto dimension : {&Partition::head_blocks, &Partition::intermediate_blocks,
                                   &Partition::vocabulary_blocks}) {
        EXPECT_EQ(BlocksOf(parts, dimension), BlocksOf(alone, dimension));
      }
      for (const Partition& part : parts) {
        EXPECT_FALSE(part.heads.empty());
        EXPECT_LE(part.heads.size(), parts[0].heads.size());
        EXPECT_LE(part.intermediate.size(), parts[0].intermediate.size());
        EXPECT_LE(part.vocabulary.size(), parts[0].vocabulary.size());
        EXPECT_TRUE(part.vocabulary.begin % kVocabularyGrain == 0 || part.vocabulary.empty());
      }
    }
  }
}

TEST(PartitionTest, BlocksAreEvenOnHalvesAndThirds) {
  for (const int size : {1, 2, 3, 4, 6, 8, 12, 24}) {
    for (const Partition& part : All(Config(24, 8, 3072, 32000), size, Sharding::kInBlocks)) {
      EXPECT_EQ(part.intermediate.size(), 3072 / size);
    }
  }
}

TEST(PartitionTest, BlocksAreAboutAsManyAsHeads) {
  const std::pair<std::int64_t, std::int64_t> blocks_of_heads[] = {
      {2, 12}, {12, 12}, {14, 16}, {17, 24}, {32, 32}, {40, 48}, {64, 64}, {96, 96}};
  for (const auto& [heads, blocks] : blocks_of_heads) {
    const ModelConfig config = Config(heads, 1, 28672, 151936);
    EXPECT_EQ(AllIntermediateBlocks(config).size(), blocks);
    EXPECT_EQ(AllVocabularyBlocks(config).size(), blocks);
  }
}

// 7 whole grains, of which the last one also has the remainder of 15.
TEST(PartitionTest, ANarrowRemainderOfTheVocabularyHasNoBlockOfItsOwn) {
  const Blocks blocks = AllVocabularyBlocks(Config(9, 3, 112, 7 * 256 + 15));
  EXPECT_EQ(blocks.size(), 7);
  EXPECT_EQ(blocks[6], (Range{6 * 256, 7 * 256 + 15}));
  EXPECT_EQ(AllVocabularyBlocks(Config(9, 3, 112, 7 * 256 + 16)).size(), 8);
  EXPECT_EQ(AllVocabularyBlocks(Config(9, 3, 112, 2)).size(), 1);
}

}  // namespace partition_test
}  // namespace scorecast::proto

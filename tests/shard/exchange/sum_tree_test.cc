#include "shard/exchange/sum_tree.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/base/range.h"
#include "shard/exchange/sum_parts.h"
#include "tests/shard/exchange/tree_oracle.h"
#include "tests/shard/random_floats.h"

namespace scorecast::shard {
namespace sum_tree_test {

using proto::Range;
using ::testing::ElementsAre;

TEST(SumTree, NodesAreAsFewAsPossible) {
  const SumTree of_ranks = SumTree::OfRanks(6);
  EXPECT_THAT(of_ranks.NodesOf({0, 6}), ElementsAre(Range{0, 6}));
  EXPECT_THAT(of_ranks.NodesOf({0, 4}), ElementsAre(Range{0, 4}));
  EXPECT_THAT(of_ranks.NodesOf({2, 5}), ElementsAre(Range{2, 4}, Range{4, 5}));
  const SumTree of_blocks = SumTree::OfBlocks({{0, 12}});
  EXPECT_THAT(of_blocks.NodesOf({0, 6}), ElementsAre(Range{0, 6}));
  EXPECT_THAT(of_blocks.NodesOf({0, 4}), ElementsAre(Range{0, 3}, Range{3, 4}))
      << "the halves of 12 are 6, and those of 3 are 2 and 1";
  EXPECT_THAT(of_blocks.NodesOf({3, 9}), ElementsAre(Range{3, 6}, Range{6, 9}));
  EXPECT_THAT(of_blocks.NodesOf({7, 7}), ElementsAre());
}

TEST(SumTree, JoinsFollowTheSecondChild) {
  // ((0 + 1) + (2 + 3)) + (4 + 5), whose last sum is not counted.
  EXPECT_THAT(SumTree::OfRanks(6).JoinsAfter(
                  std::vector<Range>{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}}),
              ElementsAre(0, 1, 0, 2, 0, 1));
  // ((0 + 1) + 2) + ((3 + 4) + 5)
  EXPECT_THAT(SumTree::OfBlocks({{0, 6}}).JoinsAfter(
                  std::vector<Range>{{0, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}}),
              ElementsAre(0, 1, 0, 1, 1));
}

/// Blocks of ranks that hold any numbers of them.
std::vector<Range> RandomRanks(std::mt19937& random, std::int64_t blocks, int ranks) {
  std::vector<std::int64_t> borders = {0, blocks};
  for (int i = 1; i < ranks; ++i) {
    borders.push_back(std::uniform_int_distribution<std::int64_t>(0, blocks)(random));
  }
  std::ranges::sort(borders);
  std::vector<Range> of_rank;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    of_rank.push_back({borders[at], borders[at + 1]});
  }
  return of_rank;
}

/// Computes a sum of numbers of blocks as the ranks of a host and other hosts do.
float SumOn(const SumTree& tree, const std::vector<float>& blocks, int ranks_a_host, int own_host) {
  const auto nodes_of = [&](int first_rank, int ranks) {
    std::vector<float> numbers;
    for (const Range node : tree.NodesOf(tree.LeavesOf({first_rank, first_rank + ranks}))) {
      numbers.push_back(testing::BlockNode(blocks, static_cast<std::size_t>(node.begin),
                                           static_cast<std::size_t>(node.end)));
    }
    return numbers;
  };
  // The order of additions, from parts: each an own rank's, or one that a host has made of those.
  const auto add = [](const std::vector<SumPart>& parts, const auto& number_of) {
    std::vector<float> stack;
    const auto join = [&stack] {
      const float right = stack.back();
      stack.pop_back();
      stack.back() += right;
    };
    for (const SumPart& part : parts) {
      stack.push_back(number_of(part));
      for (int i = 0; i < part.joins; ++i) {
        join();
      }
    }
    if (stack.size() > 1) {
      join();
    }
    EXPECT_EQ(stack.size(), 1U);
    return stack.front();
  };
  const auto of_rank = [&](int host, const SumPart& part) {
    return nodes_of(host * ranks_a_host + part.source, 1)[static_cast<std::size_t>(part.node)];
  };
  return add(SumParts(tree, ranks_a_host, own_host).of_sum(), [&](const SumPart& part) {
    if (!part.is_received) {
      return of_rank(own_host, part);
    }
    const SumParts sender(tree, ranks_a_host, part.source);
    return add(sender.of_host()[static_cast<std::size_t>(part.node)],
               [&](const SumPart& of_sender) { return of_rank(part.source, of_sender); });
  });
}

TEST(SumParts, HaveTheBitsOfOneRankForAnyRanksAndHosts) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    const auto count = std::uniform_int_distribution<std::int64_t>(1, 50)(random);
    const std::vector<float> blocks = testing::RandomFloats(random, count);
    const float expected = testing::BlockNode(blocks, 0, blocks.size());
    const int hosts = std::uniform_int_distribution(1, 5)(random);
    const int ranks_a_host = std::uniform_int_distribution(1, 4)(random);
    const SumTree tree = SumTree::OfBlocks(RandomRanks(random, count, hosts * ranks_a_host));
    for (int host = 0; host < hosts; ++host) {
      EXPECT_EQ(SumOn(tree, blocks, ranks_a_host, host), expected)
          << count << " blocks on " << hosts << " hosts of " << ranks_a_host;
    }
  }
}

}  // namespace sum_tree_test
}  // namespace scorecast::shard

#include "shard/exchange/tree_sum.h"

#include <algorithm>
#include <cstring>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "proto/base/range.h"
#include "shard/exchange/sum_tree.h"
#include "shard/kernels/kernels.h"
#include "tests/shard/bf16.h"
#include "tests/shard/exchange/tree_oracle.h"
#include "tests/shard/random_floats.h"

namespace scorecast::shard {

/// As GoogleTest prints it.
void PrintTo(SummandType type, std::ostream* out) {
  *out << (type == SummandType::kFloat32 ? "Float32" : "Bfloat16");
}

namespace tree_sum_test {

using Rows = std::vector<std::byte>;

/// The rows of some ranks, or of their sums.
struct Node {
  const std::byte* rows;
  proto::Range ranks;
};

/// Numbers as ranks store them.
Rows Stored(SummandType type, const std::vector<float>& numbers) {
  Rows rows(numbers.size() * static_cast<std::size_t>(BytesOf(type)));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (type == SummandType::kBfloat16) {
      const std::uint16_t x = testing::ToBf16(numbers[i]);
      std::memcpy(rows.data() + 2 * i, &x, sizeof(x));
    } else {
      std::memcpy(rows.data() + 4 * i, &numbers[i], sizeof(float));
    }
  }
  return rows;
}

class TreeSumOf : public ::testing::TestWithParam<SummandType> {
 protected:
  /// Two rows of summands of each rank. The sum is that of the second row.
  void MakeRanks(int ranks, std::int64_t numbers) {
    leaves_.clear();
    rows_.clear();
    numbers_ = numbers;
    for (int rank = 0; rank < ranks; ++rank) {
      leaves_.push_back(testing::RandomFloats(random_, 2 * numbers));
      for (float& x : leaves_.back()) {
        x = testing::RoundSummand(GetParam(), x);
      }
      rows_.push_back(Stored(GetParam(), leaves_.back()));
    }
  }

  std::int64_t offset() const { return numbers_ * BytesOf(GetParam()); }

  /// `start` plus the oracle's root of each number.
  std::vector<float> Expected(const std::vector<float>& start) const {
    std::vector<float> sum = start;
    std::vector<float> of_ranks(leaves_.size());
    for (std::size_t i = 0; i < sum.size(); ++i) {
      for (std::size_t rank = 0; rank < leaves_.size(); ++rank) {
        of_ranks[rank] = leaves_[rank][static_cast<std::size_t>(numbers_) + i];
      }
      sum[i] += testing::TreeRoot(GetParam(), of_ranks);
    }
    return sum;
  }

  /// Nodes of the tree over all ranks.
  std::vector<SummandRows> PartsOf(const std::vector<Node>& nodes) const {
    std::vector<proto::Range> ranges;
    for (const Node& node : nodes) {
      ranges.push_back(node.ranks);
    }
    const std::vector<int> joins =
        SumTree::OfRanks(static_cast<int>(rows_.size())).JoinsAfter(ranges);
    std::vector<SummandRows> parts;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      parts.push_back({nodes[i].rows, joins[i]});
    }
    return parts;
  }
  /// Single ranks.
  std::vector<Node> Ranks(std::size_t first, std::size_t count) const {
    std::vector<Node> nodes;
    for (std::size_t rank = first; rank < first + count; ++rank) {
      const auto number = static_cast<std::int64_t>(rank);
      nodes.push_back({rows_[rank].data(), {number, number + 1}});
    }
    return nodes;
  }

  const TreeSum tree_{KernelsFor(DetectCpuFeatures()), GetParam()};
  std::mt19937 random_{1};
  std::int64_t numbers_ = 0;
  std::vector<std::vector<float>> leaves_;  // [ranks][2 * numbers]
  std::vector<Rows> rows_;                  // [ranks]
};

TEST_P(TreeSumOf, AddsTheRoot) {
  for (const int ranks : {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 16, 17, 64}) {
    for (const std::int64_t numbers : {1, 7, 256, 257, 600}) {
      MakeRanks(ranks, numbers);
      std::vector<float> sum = testing::RandomFloats(random_, numbers, 100);
      const std::vector<float> expected = Expected(sum);
      tree_.AddTo(PartsOf(Ranks(0, rows_.size())), offset(), sum);
      EXPECT_TRUE(testing::SameBits(sum, expected)) << ranks << " ranks, " << numbers << " numbers";
    }
  }
}

// The ranks of one host are leaves, those of every other host are a node that the host has written.
TEST_P(TreeSumOf, HasTheSameBitsFromNodesOfHosts) {
  constexpr std::int64_t kNumbers = 300;
  for (const std::size_t ranks_a_host : {1U, 2U, 4U, 8U}) {
    for (std::size_t hosts = 2; hosts <= 7; ++hosts) {
      MakeRanks(static_cast<int>(hosts * ranks_a_host), kNumbers);
      const std::vector<float> start = testing::RandomFloats(random_, kNumbers, 100);
      const std::vector<float> expected = Expected(start);
      for (std::size_t own = 0; own < hosts; ++own) {
        std::vector<Rows> nodes(hosts, Rows(rows_.front().size()));
        std::vector<Node> parts;
        for (std::size_t host = 0; host < hosts; ++host) {
          const std::vector<Node> leaves = Ranks(host * ranks_a_host, ranks_a_host);
          if (host == own) {
            parts.insert(parts.end(), leaves.begin(), leaves.end());
          } else {
            tree_.WriteNode(PartsOf(leaves), offset(), kNumbers, nodes[host].data() + offset());
            parts.push_back(
                {nodes[host].data(), {leaves.front().ranks.begin, leaves.back().ranks.end}});
          }
        }
        std::vector<float> sum = start;
        tree_.AddTo(PartsOf(parts), offset(), sum);
        EXPECT_TRUE(testing::SameBits(sum, expected))
            << hosts << " hosts of " << ranks_a_host << " ranks, on host " << own;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, TreeSumOf,
                         ::testing::Values(SummandType::kFloat32, SummandType::kBfloat16),
                         ::testing::PrintToStringParamName());

/// The sum over ranks of one number each.
float SumOf(SummandType type, const std::vector<float>& of_ranks) {
  std::vector<Rows> rows;
  std::vector<proto::Range> ranks;
  for (const float x : of_ranks) {
    ranks.push_back({std::ssize(rows), std::ssize(rows) + 1});
    rows.push_back(Stored(type, {x}));
  }
  const std::vector<int> joins = SumTree::OfRanks(static_cast<int>(rows.size())).JoinsAfter(ranks);
  std::vector<SummandRows> parts;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    parts.push_back({rows[i].data(), joins[i]});
  }
  float sum = 0;
  TreeSum(KernelsFor(DetectCpuFeatures()), type).AddTo(parts, 0, {&sum, 1});
  return sum;
}

// The sums were computed by hand. Float32 has no number between 2²⁴ and 2²⁴ + 2, and bfloat16 none
// between 2⁸ and 2⁸ + 2.
TEST(TreeSumByHand, RoundsInnerNodesButNotTheRoot) {
  EXPECT_EQ(SumOf(SummandType::kFloat32, {0x1p24F, 1, 1}), 0x1p24F);
  EXPECT_EQ(SumOf(SummandType::kFloat32, {0x1p24F, 0, 1, 1}), 0x1p24F + 2);
  EXPECT_EQ(SumOf(SummandType::kBfloat16, {256, 1}), 257);
  EXPECT_EQ(SumOf(SummandType::kBfloat16, {256, 1, 0}), 256);
  EXPECT_EQ(SumOf(SummandType::kBfloat16, {256, 1, 1}), 257);
  EXPECT_EQ(SumOf(SummandType::kBfloat16, {256, 0, 1, 1}), 258);
}

}  // namespace tree_sum_test
}  // namespace scorecast::shard

#include "shard/exchange/sum_tree.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "proto/base/check.h"
#include "proto/model/partition.h"

namespace scorecast::shard {

using proto::Range;

SumTree SumTree::OfRanks(int ranks) {
  std::vector<Range> of_rank;
  for (int rank = 0; rank < ranks; ++rank) {
    of_rank.push_back({rank, rank + 1});
  }
  return {Shape::kPowersOfTwo, std::move(of_rank)};
}

SumTree SumTree::OfBlocks(std::vector<Range> of_rank) {
  return {Shape::kHalves, std::move(of_rank)};
}

SumTree::SumTree(Shape shape, std::vector<Range> of_rank)
    : shape_(shape), of_rank_(std::move(of_rank)) {
  std::int64_t end = 0;
  for (const Range leaves : of_rank_) {
    proto::Check(leaves.begin == end, "consecutive ranks hold consecutive leaves");
    end = leaves.end;
  }
}

Range SumTree::LeavesOf(Range ranks) const {
  return {of_rank_[static_cast<std::size_t>(ranks.begin)].begin,
          of_rank_[static_cast<std::size_t>(ranks.end - 1)].end};
}

std::int64_t SumTree::Middle(Range node) const {
  if (shape_ == Shape::kHalves) {
    return proto::HalfOf(node);
  }
  const auto size = static_cast<std::uint64_t>(node.size());
  return node.begin + static_cast<std::int64_t>(std::bit_floor(size - 1));
}

std::vector<Range> SumTree::NodesOf(Range leaves) const {
  std::vector<Range> found;
  FindNodes(LeavesOf({0, ranks()}), leaves, found);
  return found;
}

void SumTree::FindNodes(Range node, Range leaves, std::vector<Range>& found) const {
  if (std::max(node.begin, leaves.begin) >= std::min(node.end, leaves.end)) {
    return;
  }
  if (leaves.begin <= node.begin && node.end <= leaves.end) {
    found.push_back(node);
    return;
  }
  const std::int64_t middle = Middle(node);
  FindNodes({node.begin, middle}, leaves, found);
  FindNodes({middle, node.end}, leaves, found);
}

std::vector<int> SumTree::JoinsAfter(std::span<const Range> nodes) const {
  std::vector<int> joins;
  if (nodes.size() < 2) {
    return std::vector<int>(nodes.size(), 0);
  }
  std::span<const Range> left = nodes;
  CountJoins({nodes.front().begin, nodes.back().end}, left, joins);
  --joins.back();
  return joins;
}

void SumTree::CountJoins(Range node, std::span<const Range>& left, std::vector<int>& joins) const {
  if (left.front() == node) {
    joins.push_back(0);
    left = left.subspan(1);
    return;
  }
  proto::Check(node.size() > 1, "the parts of a sum are nodes of its tree");
  const std::int64_t middle = Middle(node);
  CountJoins({node.begin, middle}, left, joins);
  CountJoins({middle, node.end}, left, joins);
  ++joins.back();
}

}  // namespace scorecast::shard

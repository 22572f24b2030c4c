#pragma once

#include <span>
#include <vector>

#include "proto/base/range.h"

namespace scorecast::shard {

/// A binary tree in which summands are added up. Consecutive ranks hold consecutive leaves. What a
/// rank, or a group of consecutive ranks, contributes to a sum are nodes of the tree: as few as its
/// leaves consist of.
class SumTree {
 public:
  /// Every rank is a leaf. The first child of a node has the largest power of two of its leaves
  /// that is less than all of them.
  static SumTree OfRanks(int ranks);
  /// The leaves are blocks that do not depend on the number of ranks: see proto::Blocks. The
  /// children of a node are its halves (proto::HalfOf). `of_rank` are the blocks of each rank,
  /// which may have none.
  static SumTree OfBlocks(std::vector<proto::Range> of_rank);

  int ranks() const { return static_cast<int>(of_rank_.size()); }
  /// The leaves of some consecutive ranks.
  proto::Range LeavesOf(proto::Range ranks) const;
  /// The fewest nodes that consist of these leaves, in order.
  std::vector<proto::Range> NodesOf(proto::Range leaves) const;
  /// A sum is computed with a stack: the numbers of each node are pushed in order, and after some
  /// of them the two on top are replaced by their sum, their parent. Returns how often that is
  /// after each of `nodes`, which together are a node. The sum that is this node is not counted.
  std::vector<int> JoinsAfter(std::span<const proto::Range> nodes) const;

 private:
  enum class Shape { kPowersOfTwo, kHalves };

  SumTree(Shape shape, std::vector<proto::Range> of_rank);
  /// The first leaf of a node's second child.
  std::int64_t Middle(proto::Range node) const;
  void FindNodes(proto::Range node, proto::Range leaves, std::vector<proto::Range>& found) const;
  void CountJoins(proto::Range node, std::span<const proto::Range>& left,
                  std::vector<int>& joins) const;

  Shape shape_;
  std::vector<proto::Range> of_rank_;
};

}  // namespace scorecast::shard

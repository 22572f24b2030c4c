#pragma once

#include <vector>

#include "shard/exchange/sum_tree.h"

namespace scorecast::shard {

/// A node that a sum consists of, and where its numbers are.
struct SumPart {
  bool is_received = false;  ///< From another host; otherwise a rank of this host wrote it.
  int source = 0;            ///< That host, or the rank's number on this host.
  int node = 0;              ///< Its number among the nodes that the source has of a row.
  int joins = 0;  ///< Nodes that are made of it and of those before: SumTree::JoinsAfter.
};

/// How sums of a tree are computed on one of several hosts that have equally many consecutive
/// ranks.
class SumParts {
 public:
  SumParts(const SumTree& tree, int ranks_a_host, int own_host);

  /// The parts of the whole sum: nodes of each rank of this host, and of each other host.
  const std::vector<SumPart>& of_sum() const { return of_sum_; }
  /// The nodes of this host, each with its parts: nodes of this host's ranks.
  const std::vector<std::vector<SumPart>>& of_host() const { return of_host_; }
  /// Number of the nodes of one of this host's ranks.
  int NodesOfRank(int rank_of_host) const;
  /// The most nodes that a rank or a host has, on any host.
  int most_nodes() const { return most_nodes_; }

 private:
  std::vector<SumPart> of_sum_;
  std::vector<std::vector<SumPart>> of_host_;
  int most_nodes_ = 1;
};

}  // namespace scorecast::shard

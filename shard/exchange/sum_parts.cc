#include "shard/exchange/sum_parts.h"

#include <algorithm>
#include <cstddef>
#include <span>

#include "proto/base/range.h"

namespace scorecast::shard {
namespace {

using proto::Range;

/// The nodes that a sum over `node` consists of, and where they are.
struct PlacedNodes {
  std::vector<SumPart> places;
  std::vector<Range> nodes;

  void Add(bool is_received, int source, const std::vector<Range>& of_source) {
    for (std::size_t node = 0; node < of_source.size(); ++node) {
      places.push_back({is_received, source, static_cast<int>(node), 0});
      nodes.push_back(of_source[node]);
    }
  }

  /// Those within `of`, with their joins.
  std::vector<SumPart> Within(const SumTree& tree, Range of) const {
    std::vector<SumPart> parts;
    std::vector<Range> of_parts;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (of.begin <= nodes[i].begin && nodes[i].end <= of.end) {
        parts.push_back(places[i]);
        of_parts.push_back(nodes[i]);
      }
    }
    const std::vector<int> joins = tree.JoinsAfter(of_parts);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      parts[i].joins = joins[i];
    }
    return parts;
  }
};

}  // namespace

SumParts::SumParts(const SumTree& tree, int ranks_a_host, int own_host) {
  PlacedNodes of_ranks;
  PlacedNodes of_all;
  const auto nodes_of = [&](int first_rank, int ranks) {
    std::vector<Range> nodes = tree.NodesOf(tree.LeavesOf({first_rank, first_rank + ranks}));
    most_nodes_ = std::max(most_nodes_, static_cast<int>(nodes.size()));
    return nodes;
  };
  for (int rank = 0; rank < tree.ranks(); ++rank) {
    const std::vector<Range> nodes = nodes_of(rank, 1);
    if (rank / ranks_a_host == own_host) {
      of_ranks.Add(/*is_received=*/false, rank % ranks_a_host, nodes);
    }
  }
  for (int host = 0; host < tree.ranks() / ranks_a_host; ++host) {
    const std::vector<Range> nodes = nodes_of(host * ranks_a_host, ranks_a_host);
    if (host != own_host) {
      of_all.Add(/*is_received=*/true, host, nodes);
      continue;
    }
    of_all.places.insert(of_all.places.end(), of_ranks.places.begin(), of_ranks.places.end());
    of_all.nodes.insert(of_all.nodes.end(), of_ranks.nodes.begin(), of_ranks.nodes.end());
    for (const Range node : nodes) {
      of_host_.push_back(of_ranks.Within(tree, node));
    }
  }
  of_sum_ = of_all.Within(tree, tree.LeavesOf({0, tree.ranks()}));
}

int SumParts::NodesOfRank(int rank_of_host) const {
  return static_cast<int>(std::ranges::count_if(of_sum_, [&](const SumPart& part) {
    return !part.is_received && part.source == rank_of_host;
  }));
}

}  // namespace scorecast::shard

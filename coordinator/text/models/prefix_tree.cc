#include "coordinator/text/models/prefix_tree.h"

namespace scorecast::coordinator {

PrefixTree::PrefixTree(std::vector<Entry> entries) {
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.first < b.first; });
  // The tree is built level by level. An open node stands for the entries [begin, end), which share
  // their first bytes.
  struct Open {
    std::size_t begin;
    std::size_t end;
  };
  nodes_.emplace_back();
  std::vector<Open> level = {{0, entries.size()}};
  for (std::size_t depth = 0, node = 0; !level.empty(); ++depth) {
    std::vector<Open> next_level;
    for (const Open& open : level) {
      std::size_t at = open.begin;
      for (; at < open.end && entries[at].first.size() == depth; ++at) {
        nodes_[node].id = depth > 0 ? entries[at].second : -1;
      }
      nodes_[node].first_child = static_cast<std::uint32_t>(nodes_.size());
      while (at < open.end) {
        const auto label = static_cast<std::uint8_t>(entries[at].first[depth]);
        const std::size_t begin = at;
        while (at < open.end && static_cast<std::uint8_t>(entries[at].first[depth]) == label) {
          ++at;
        }
        nodes_.push_back({.label = label});
        ++nodes_[node].child_count;
        next_level.push_back({begin, at});
      }
      ++node;
    }
    level = std::move(next_level);
  }
}

std::optional<proto::TokenId> PrefixTree::Find(std::string_view text) const {
  std::optional<proto::TokenId> whole;
  ForEachPrefix(text, [&](std::size_t length, proto::TokenId id) {
    if (length == text.size()) {
      whole = id;
    }
  });
  return whole;
}

}  // namespace scorecast::coordinator

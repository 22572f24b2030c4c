#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/model/token_id.h"

namespace scorecast::coordinator {

/// A set of texts, each with an id. Finds all texts of the set with which a given text begins.
/// Immutable.
class PrefixTree {
 public:
  using Entry = std::pair<std::string_view, proto::TokenId>;

  /// If two entries have the same text, the later one counts. An entry without text is never found.
  explicit PrefixTree(std::vector<Entry> entries);

  /// Calls `found(length, id)` for every entry with which `text` begins, the shortest first.
  template <typename Found>
  void ForEachPrefix(std::string_view text, Found found) const {
    const Node* node = &nodes_.front();
    for (std::size_t i = 0; i < text.size(); ++i) {
      node = Child(*node, static_cast<std::uint8_t>(text[i]));
      if (node == nullptr) {
        return;
      }
      if (node->id >= 0) {
        found(i + 1, node->id);
      }
    }
  }

  /// The id of an entry.
  std::optional<proto::TokenId> Find(std::string_view text) const;

 private:
  struct Node {
    std::uint32_t first_child = 0;  ///< Children lie next to each other, by label.
    std::uint16_t child_count = 0;
    std::uint8_t label = 0;
    proto::TokenId id = -1;
  };

  const Node* Child(const Node& node, std::uint8_t label) const {
    const auto begin = nodes_.begin() + node.first_child;
    const auto end = begin + node.child_count;
    const auto child = std::lower_bound(begin, end, label,
                                        [](const Node& a, std::uint8_t b) { return a.label < b; });
    return child != end && child->label == label ? &*child : nullptr;
  }

  std::vector<Node> nodes_;  ///< The root first.
};

}  // namespace scorecast::coordinator

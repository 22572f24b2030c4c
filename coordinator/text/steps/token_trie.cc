#include "coordinator/text/steps/token_trie.h"

namespace scorecast::coordinator {

void TokenTrie::Insert(std::string_view text, std::size_t index) {
  if (text.empty()) {
    return;
  }
  first_bytes_[static_cast<std::uint8_t>(text.front())] = true;
  Node node = 0;
  for (const char byte : text) {
    const auto [edge, is_new] =
        edges_.try_emplace(Edge(node, byte), static_cast<Node>(values_.size()));
    if (is_new) {
      values_.push_back(kNoValue);
      has_edges_[node] = true;
      has_edges_.push_back(false);
    }
    node = edge->second;
  }
  if (values_[node] == kNoValue) {
    values_[node] = index;
  }
}

std::optional<TokenTrie::Match> TokenTrie::LongestPrefix(std::string_view rest) const {
  if (rest.empty() || !first_bytes_[static_cast<std::uint8_t>(rest.front())]) {
    return std::nullopt;
  }
  std::optional<Match> longest;
  Node node = 0;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const auto edge = edges_.find(Edge(node, rest[i]));
    if (edge == edges_.end()) {
      break;
    }
    node = edge->second;
    if (values_[node] != kNoValue) {
      longest = Match{i + 1, values_[node]};
    }
  }
  return longest;
}

bool TokenTrie::MayContinue(std::string_view rest) const {
  if (!rest.empty() && !first_bytes_[static_cast<std::uint8_t>(rest.front())]) {
    return false;
  }
  Node node = 0;
  for (const char byte : rest) {
    const auto edge = edges_.find(Edge(node, byte));
    if (edge == edges_.end()) {
      return false;
    }
    node = edge->second;
  }
  return has_edges_[node];
}

}  // namespace scorecast::coordinator

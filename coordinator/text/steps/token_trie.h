#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace scorecast::coordinator {

/// A set of texts to find inside other texts. If several match at a place, the longest one is
/// found.
class TokenTrie {
 public:
  struct Match {
    std::size_t length = 0;
    std::size_t index = 0;  ///< The index passed to Insert.
  };

  /// If a text is inserted twice, the first index counts. Empty texts are never found.
  void Insert(std::string_view text, std::size_t index);

  /// The longest inserted text with which `rest` begins.
  std::optional<Match> LongestPrefix(std::string_view rest) const;

  /// Whether an inserted text begins with `rest` and is longer. If more text follows `rest`, that
  /// inserted text may match.
  bool MayContinue(std::string_view rest) const;

  bool empty() const { return values_.size() == 1; }

 private:
  using Node = std::uint32_t;
  static constexpr std::size_t kNoValue = SIZE_MAX;

  static std::uint64_t Edge(Node node, char byte) {
    return (std::uint64_t{node} << 8) | static_cast<std::uint8_t>(byte);
  }

  std::array<bool, 256> first_bytes_{};  ///< This alone rules out most places in a text.
  std::unordered_map<std::uint64_t, Node> edges_;
  std::vector<std::size_t> values_ = {kNoValue};  ///< By node; node 0 is the root.
  std::vector<bool> has_edges_ = {false};         ///< By node.
};

}  // namespace scorecast::coordinator

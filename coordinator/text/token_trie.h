#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace scorecast::coordinator {

/// Texts to be found inside other texts: at a place, the longest that stands there.
class TokenTrie {
 public:
  struct Match {
    std::size_t length = 0;
    std::size_t index = 0;  ///< As given to Insert.
  };

  /// Of equal texts the first one counts. Empty texts are never found.
  void Insert(std::string_view text, std::size_t index);

  /// The longest text that `rest` begins with.
  std::optional<Match> LongestPrefix(std::string_view rest) const;

  bool empty() const { return values_.size() == 1; }

 private:
  using Node = std::uint32_t;
  static constexpr std::size_t kNoValue = SIZE_MAX;

  static std::uint64_t Edge(Node node, char byte) {
    return (std::uint64_t{node} << 8) | static_cast<std::uint8_t>(byte);
  }

  std::array<bool, 256> first_bytes_{};  ///< Most places in a text are passed by this alone.
  std::unordered_map<std::uint64_t, Node> edges_;
  std::vector<std::size_t> values_ = {kNoValue};  ///< By node; 0 is the root.
};

}  // namespace scorecast::coordinator

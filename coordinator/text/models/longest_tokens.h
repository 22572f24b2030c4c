#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>

namespace scorecast::coordinator {

/// A lower bound on the number of tokens of a text. Each symbol (character or byte) of the text
/// counts as a fraction of a token: one over the length of the longest token in which the symbol
/// occurs. The symbols of one token then add up to at most one token.
class LongestTokens {
 public:
  /// Adds up fractions, each rounded down.
  class Sum {
   public:
    /// Adds parts / of for a symbol that takes at least this fraction of a token.
    void Add(std::uint64_t parts, std::uint64_t of) { sum_ += (parts << 32) / of; }
    std::int64_t tokens() const { return static_cast<std::int64_t>(sum_ >> 32); }

   private:
    std::uint64_t sum_ = 0;
  };

  void AddBytes(std::string_view token);
  /// The token must be valid UTF-8.
  void AddCharacters(std::string_view token);

  /// Number of symbols of the longest token that contains this one; 0 if no token does.
  std::uint64_t With(char32_t symbol) const {
    if (symbol < low_.size()) {
      return low_[symbol];
    }
    const auto entry = high_.find(symbol);
    return entry == high_.end() ? 0 : entry->second;
  }
  /// Number of symbols of the longest token of all.
  std::uint64_t longest() const { return longest_; }

 private:
  void Add(char32_t symbol, std::uint32_t length);

  std::array<std::uint32_t, 256> low_{};
  std::unordered_map<char32_t, std::uint32_t> high_;
  std::uint32_t longest_ = 0;
};

}  // namespace scorecast::coordinator

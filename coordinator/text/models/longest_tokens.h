#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>

namespace scorecast::coordinator {

/// How few tokens a text can have: each of its symbols (characters or bytes) counts as a fraction
/// of a token, one over the length of the longest token in which the symbol occurs. What a token
/// consists of then adds up to one token at most.
class LongestTokens {
 public:
  /// Adds up fractions. Each is rounded down.
  class Sum {
   public:
    /// A symbol that takes at least `parts` of `of`.
    void Add(std::uint64_t parts, std::uint64_t of) { sum_ += (parts << 32) / of; }
    std::int64_t tokens() const { return static_cast<std::int64_t>(sum_ >> 32); }

   private:
    std::uint64_t sum_ = 0;
  };

  void AddBytes(std::string_view token);
  /// The token must be valid UTF-8.
  void AddCharacters(std::string_view token);

  /// The number of symbols of the longest token with this one; 0 if there is none.
  std::uint64_t With(char32_t symbol) const {
    if (symbol < low_.size()) {
      return low_[symbol];
    }
    const auto entry = high_.find(symbol);
    return entry == high_.end() ? 0 : entry->second;
  }
  /// The number of symbols of the longest token of all.
  std::uint64_t longest() const { return longest_; }

 private:
  void Add(char32_t symbol, std::uint32_t length);

  std::array<std::uint32_t, 256> low_{};
  std::unordered_map<char32_t, std::uint32_t> high_;
  std::uint32_t longest_ = 0;
};

}  // namespace scorecast::coordinator

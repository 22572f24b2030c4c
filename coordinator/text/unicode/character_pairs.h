#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace scorecast::coordinator {

/// The pairs of neighbouring characters in the tokens of a vocabulary. BPE makes only tokens of the
/// vocabulary. It therefore never merges across a pair that occurs in no token.
class CharacterPairs {
 public:
  /// Adds the pairs of a token's spelling, which must be valid UTF-8.
  void Add(std::string_view spelling);
  /// Adds the pairs of bytes.
  void AddBytes(std::string_view token);

  /// To be called after the last `Add`.
  void Finish();

  bool Contains(char32_t first, char32_t second) const;

 private:
  static std::uint64_t Pair(char32_t first, char32_t second) {
    return (std::uint64_t{first} << 32) | second;
  }

  std::vector<std::uint64_t> pairs_;  ///< Sorted.
};

}  // namespace scorecast::coordinator

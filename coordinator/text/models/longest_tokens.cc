#include "coordinator/text/models/longest_tokens.h"

#include <algorithm>

#include "coordinator/text/unicode/utf8.h"

namespace scorecast::coordinator {

void LongestTokens::Add(char32_t symbol, std::uint32_t length) {
  std::uint32_t& longest = symbol < low_.size() ? low_[symbol] : high_[symbol];
  longest = std::max(longest, length);
  longest_ = std::max(longest_, length);
}

void LongestTokens::AddBytes(std::string_view token) {
  for (const char byte : token) {
    Add(static_cast<std::uint8_t>(byte), static_cast<std::uint32_t>(token.size()));
  }
}

void LongestTokens::AddCharacters(std::string_view token) {
  std::uint32_t length = 0;
  for (std::size_t at = 0; at < token.size(); at += FirstCodePoint(token.substr(at)).length) {
    ++length;
  }
  for (std::size_t at = 0; at < token.size();) {
    const CodePoint character = FirstCodePoint(token.substr(at));
    Add(character.value, length);
    at += character.length;
  }
}

}  // namespace scorecast::coordinator

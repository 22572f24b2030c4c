#include "coordinator/text/unicode/character_pairs.h"

#include <algorithm>
#include <cstddef>

#include "coordinator/text/unicode/utf8.h"

namespace scorecast::coordinator {

void CharacterPairs::Add(std::string_view spelling) {
  char32_t previous = 0;
  for (std::size_t at = 0; at < spelling.size();) {
    const CodePoint character = FirstCodePoint(spelling.substr(at));
    if (at > 0) {
      pairs_.push_back(Pair(previous, character.value));
    }
    previous = character.value;
    at += character.length;
  }
}

void CharacterPairs::AddBytes(std::string_view token) {
  for (std::size_t i = 1; i < token.size(); ++i) {
    pairs_.push_back(
        Pair(static_cast<unsigned char>(token[i - 1]), static_cast<unsigned char>(token[i])));
  }
}

void CharacterPairs::Finish() {
  std::sort(pairs_.begin(), pairs_.end());
  pairs_.erase(std::unique(pairs_.begin(), pairs_.end()), pairs_.end());
  pairs_.shrink_to_fit();
}

bool CharacterPairs::Contains(char32_t first, char32_t second) const {
  return std::binary_search(pairs_.begin(), pairs_.end(), Pair(first, second));
}

}  // namespace scorecast::coordinator

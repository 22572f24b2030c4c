#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace scorecast::proto {

/// Text from outside (a path, a tensor's name, a field's value) as it may stand in a message of one
/// line: control characters become \xNN, and what is longer than `limit` bytes is cut.
inline std::string OneLine(std::string_view text, std::size_t limit = 200) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::size_t length = text.size();
  if (length > limit) {
    length = limit;
    // Not inside a UTF-8 character.
    while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80) {
      --length;
    }
  }
  std::string line;
  line.reserve(length);
  for (const char c : text.substr(0, length)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) {
      line += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      line += c;
    }
  }
  if (length < text.size()) {
    line += "…";
  }
  return line;
}

/// The same in quotation marks.
inline std::string Quoted(std::string_view text, std::size_t limit = 64) {
  return '"' + OneLine(text, limit) + '"';
}

}  // namespace scorecast::proto

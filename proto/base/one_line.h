#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace scorecast::proto {

/// Text from outside (a path, a tensor's name, a field's value) in a form that fits into a one-line
/// message: control characters become \xNN, and text beyond `limit` bytes is cut off.
inline std::string OneLine(std::string_view text, std::size_t limit = 200) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::size_t length = text.size();
  if (length > limit) {
    length = limit;
    // Do not cut inside a UTF-8 character.
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

/// OneLine of a path. Not cut if the path is no longer than Linux allows.
inline std::string OneLinePath(std::string_view path) { return OneLine(path, 4096); }

/// OneLine in quotation marks.
inline std::string Quoted(std::string_view text, std::size_t limit = 64) {
  return '"' + OneLine(text, limit) + '"';
}

}  // namespace scorecast::proto

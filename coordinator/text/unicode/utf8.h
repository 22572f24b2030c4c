#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace scorecast::coordinator {

/// A code point and its length in bytes.
struct CodePoint {
  char32_t value = 0;
  std::size_t length = 0;
};

/// The first and the last code point of a text, which must be valid UTF-8 and not empty.
CodePoint FirstCodePoint(std::string_view text);
CodePoint LastCodePoint(std::string_view text);

bool IsValidUtf8(std::string_view text);

void AppendUtf8(char32_t code_point, std::string& text);

/// Converts bytes to valid UTF-8. Each maximal subpart of an invalid sequence becomes one U+FFFD.
/// This is the practice of Unicode 15, section 3.9, and of Rust's from_utf8_lossy.
std::string ReplaceInvalidUtf8(std::string_view bytes);

}  // namespace scorecast::coordinator

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace scorecast::coordinator {

/// A code point and the number of bytes that spell it.
struct CodePoint {
  char32_t value = 0;
  std::size_t length = 0;
};

/// The first and the last code point of a text that is not empty and valid UTF-8.
CodePoint FirstCodePoint(std::string_view text);
CodePoint LastCodePoint(std::string_view text);

void AppendUtf8(char32_t code_point, std::string& text);

/// Bytes as UTF-8. Every maximal part that can begin no character becomes one U+FFFD: the practice
/// of Unicode 15, section 3.9, which Rust's from_utf8_lossy follows too.
std::string ReplaceInvalidUtf8(std::string_view bytes);

}  // namespace scorecast::coordinator

#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace scorecast::proto {

/// The small letter of an ASCII capital; other characters stay.
constexpr char ToLower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// The text with small ASCII letters.
inline std::string ToLower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) { return ToLower(c); });
  return lower;
}

/// Compares texts. The case of ASCII letters does not count.
inline bool EqualsWithoutCase(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return ToLower(x) == ToLower(y); });
}

}  // namespace scorecast::proto

#pragma once

#include <cstddef>
#include <string_view>

namespace scorecast::proto {

/// A text without the characters of `space` at its ends.
inline std::string_view Trimmed(std::string_view text, std::string_view space = " \t\r\n") {
  const std::size_t begin = text.find_first_not_of(space);
  return begin == std::string_view::npos
             ? std::string_view()
             : text.substr(begin, text.find_last_not_of(space) + 1 - begin);
}

}  // namespace scorecast::proto

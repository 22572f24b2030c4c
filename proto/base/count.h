#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace scorecast::proto {

/// A number and the noun that agrees with it: "1 query", "0 queries".
std::string Count(std::integral auto number, std::string_view singular, std::string_view plural) {
  std::string text = std::to_string(number) + " ";
  return text += number == 1 ? singular : plural;
}

/// The same for a noun whose plural ends in a further s: "1 rank", "2 ranks".
std::string Count(std::integral auto number, std::string_view noun) {
  return Count(number, noun, std::string(noun) + "s");
}

}  // namespace scorecast::proto

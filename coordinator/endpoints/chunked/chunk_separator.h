#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace scorecast::coordinator {

/// The parts of a text with separators, without the separators. Any part may be empty.
struct SplitPrompt {
  std::string_view system_prompt;
  std::vector<std::string_view> chunks;
  std::string_view question;
};

/// Splits `prompt` at the leftmost separators, which do not overlap; two in a row make an empty
/// chunk. Empty if there are fewer than two separators: it is an ordinary prompt then. `separator`
/// is not empty.
std::optional<SplitPrompt> SplitAtSeparators(std::string_view prompt, std::string_view separator);

}  // namespace scorecast::coordinator

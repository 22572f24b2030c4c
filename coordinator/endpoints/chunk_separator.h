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

/// Splits `prompt` at its separators, which are searched from left to right and do not overlap. Two
/// separators in a row enclose an empty chunk. Returns nothing if there are fewer than two
/// separators: the prompt is then an ordinary one. `separator` must not be empty.
std::optional<SplitPrompt> SplitAtSeparators(std::string_view prompt, std::string_view separator);

}  // namespace scorecast::coordinator

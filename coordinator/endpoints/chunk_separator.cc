#include "coordinator/endpoints/chunk_separator.h"

#include <cstddef>

namespace scorecast::coordinator {

std::optional<SplitPrompt> SplitAtSeparators(std::string_view prompt, std::string_view separator) {
  std::vector<std::string_view> parts;
  for (std::size_t end = prompt.find(separator); end != std::string_view::npos;
       end = prompt.find(separator)) {
    parts.push_back(prompt.substr(0, end));
    prompt.remove_prefix(end + separator.size());
  }
  if (parts.size() < 2) {
    return std::nullopt;
  }
  return SplitPrompt{parts.front(), {parts.begin() + 1, parts.end()}, prompt};
}

}  // namespace scorecast::coordinator

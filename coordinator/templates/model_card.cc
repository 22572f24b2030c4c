#include "coordinator/templates/model_card.h"

#include <algorithm>
#include <cstddef>

namespace scorecast::coordinator {

std::string ModelCardTitle(std::string_view markdown) {
  constexpr std::string_view kFence = "```";
  constexpr std::string_view kFrontMatter = "---";
  bool in_code = false;
  bool in_front_matter = false;
  for (bool is_first = true; !markdown.empty(); is_first = false) {
    const std::size_t end = std::min(markdown.find('\n'), markdown.size());
    const std::string_view line = markdown.substr(0, end);
    markdown.remove_prefix(std::min(end + 1, markdown.size()));
    if (line.starts_with(kFrontMatter) && (is_first || in_front_matter)) {
      in_front_matter = is_first;
    } else if (in_front_matter) {
      continue;
    } else if (line.starts_with(kFence)) {
      in_code = !in_code;
    } else if (!in_code && line.starts_with("# ")) {
      const std::size_t begin = line.find_first_not_of(" #");
      return begin == std::string_view::npos ? std::string() : std::string(line.substr(begin));
    }
  }
  return {};
}

}  // namespace scorecast::coordinator

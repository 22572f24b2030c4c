#include "coordinator/generate/stop_strings.h"

#include <algorithm>
#include <utility>

namespace scorecast::coordinator {

StopStrings::StopStrings(std::vector<std::string> stops, bool shows_stop)
    : shows_stop_(shows_stop) {
  for (std::string& stop : stops) {
    if (stop.empty()) {
      continue;
    }
    std::vector<std::uint16_t> border(stop.size() + 1, 0);
    std::size_t length = 0;
    for (std::size_t i = 1; i < stop.size(); ++i) {
      while (length > 0 && stop[i] != stop[length]) {
        length = border[length];
      }
      length += stop[i] == stop[length] ? 1 : 0;
      border[i + 1] = static_cast<std::uint16_t>(length);
    }
    searches_.push_back({std::move(stop), std::move(border), 0});
  }
}

std::string StopStrings::Push(std::string_view piece, bool may_stop) {
  for (const char c : piece) {
    if (found_) {
      break;
    }
    held_ += c;
    std::size_t longest = 0;
    for (Search& search : searches_) {
      while (search.matched > 0 && search.stop[search.matched] != c) {
        search.matched = search.border[search.matched];
      }
      search.matched += search.stop[search.matched] == c ? 1 : 0;
      if (search.matched == search.stop.size() && may_stop) {
        found_ = true;
        longest = std::max(longest, search.matched);
      } else if (search.matched == search.stop.size()) {
        search.matched = search.border[search.matched];
      }
    }
    if (found_ && !shows_stop_) {
      held_.resize(held_.size() - longest);
    }
  }
  std::size_t hold = 0;
  if (!found_) {
    for (const Search& search : searches_) {
      hold = std::max(hold, search.matched);
    }
  }
  std::string shown = held_.substr(0, held_.size() - hold);
  held_.erase(0, shown.size());
  return shown;
}

std::string StopStrings::Finish() { return std::exchange(held_, {}); }

}  // namespace scorecast::coordinator

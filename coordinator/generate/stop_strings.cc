#include "coordinator/generate/stop_strings.h"

#include <algorithm>
#include <utility>

namespace scorecast::coordinator {

StopList::StopList(const std::vector<std::string>& stops) {
  std::vector<Stop> made;
  for (const std::string& stop : stops) {
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
    made.push_back({stop, std::move(border)});
  }
  stops_ = std::make_shared<const std::vector<Stop>>(std::move(made));
}

StopStrings::StopStrings(StopList list, bool shows_stop)
    : list_(std::move(list)), matched_(list_.stops().size()), shows_stop_(shows_stop) {}

std::string StopStrings::Push(std::string_view piece, bool may_stop) {
  const std::span<const StopList::Stop> stops = list_.stops();
  for (const char c : piece) {
    if (found_) {
      break;
    }
    held_ += c;
    std::size_t longest = 0;
    for (std::size_t i = 0; i < stops.size(); ++i) {
      const auto& [stop, border] = stops[i];
      std::size_t& matched = matched_[i];
      while (matched > 0 && stop[matched] != c) {
        matched = border[matched];
      }
      matched += stop[matched] == c ? 1 : 0;
      if (matched == stop.size() && may_stop) {
        found_ = true;
        longest = std::max(longest, matched);
      } else if (matched == stop.size()) {
        matched = border[matched];
      }
    }
    if (found_ && !shows_stop_) {
      held_.resize(held_.size() - longest);
    }
  }
  std::size_t hold = 0;
  if (!found_ && !matched_.empty()) {
    hold = std::ranges::max(matched_);
  }
  std::string shown = held_.substr(0, held_.size() - hold);
  held_.erase(0, shown.size());
  return shown;
}

std::string StopStrings::Finish() { return std::exchange(held_, {}); }

}  // namespace scorecast::coordinator

#include "coordinator/text/unicode/open_text.h"

#include <cstddef>
#include <utility>

namespace scorecast::coordinator {

OpenText OpenText::FromRaw(std::string_view raw) {
  OpenText result{std::string(raw), std::vector<std::size_t>(raw.size() + 1)};
  for (std::size_t i = 0; i <= raw.size(); ++i) {
    const bool is_inside_character =
        i < raw.size() && (static_cast<unsigned char>(raw[i]) & 0xC0) == 0x80;
    result.places[i] = is_inside_character ? kNoPlace : i;
  }
  return result;
}

void OpenText::Keep(std::size_t begin, std::size_t end) {
  text.resize(end);
  text.erase(0, begin);
  places.resize(end + 1);
  places.erase(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(begin));
}

void OpenText::ForgetPlaces(std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    places[i] = kNoPlace;
  }
}

void OpenPiece::Cut(std::size_t begin, std::size_t end) {
  if (begin > 0) {
    is_first = false;
    if (text.places[begin] != OpenText::kNoPlace) {
      cut = text.places[begin];
    }
  }
  text.Keep(begin, end);
}

void OpenTextBuilder::Add(std::string_view text, std::size_t place) {
  if (text.empty()) {
    return;
  }
  made_.text += text;
  made_.places.push_back(place);
  made_.places.resize(made_.text.size(), OpenText::kNoPlace);
}

void OpenTextBuilder::Copy(const OpenText& from, std::size_t begin, std::size_t end) {
  made_.text += std::string_view(from.text).substr(begin, end - begin);
  made_.places.insert(made_.places.end(), from.places.begin() + static_cast<std::ptrdiff_t>(begin),
                      from.places.begin() + static_cast<std::ptrdiff_t>(end));
}

OpenText OpenTextBuilder::Finish(std::size_t place) && {
  made_.places.push_back(place);
  return std::move(made_);
}

}  // namespace scorecast::coordinator

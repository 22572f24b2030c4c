#include "coordinator/chat/marked_text.h"

#include <algorithm>
#include <array>

#include "coordinator/text/unicode/unicode_classes.h"
#include "coordinator/text/unicode/utf8.h"

namespace scorecast::coordinator {

std::size_t MarkedText::EndOfRun(std::size_t begin) const {
  return std::min(origins_.find_first_not_of(origins_[begin], begin), origins_.size());
}

MarkedText MarkedText::WithMarkup(bool is_markup) && {
  is_markup_ = is_markup;
  return std::move(*this);
}

MarkedText MarkedText::Part(std::size_t begin, std::size_t count) const {
  MarkedText part;
  part.text_ = text_.substr(begin, count);
  part.origins_ = origins_.substr(begin, count);
  part.is_markup_ = is_markup_;
  return part;
}

void MarkedText::Append(const MarkedText& other) {
  text_ += other.text_;
  origins_ += other.origins_;
}

void MarkedText::Append(std::string_view text, Origin origin) {
  text_ += text;
  origins_.append(text.size(), static_cast<char>(origin));
}

MarkedText Escaped(const MarkedText& text) {
  if (text.is_markup()) {
    return text;
  }
  static constexpr std::array<std::pair<char, std::string_view>, 5> kEntities = {
      {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'\'', "&#39;"}, {'"', "&#34;"}}};
  MarkedText escaped;
  std::size_t written = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (const auto& [character, entity] : kEntities) {
      if (text.text()[i] == character) {
        escaped.Append(text.Part(written, i - written));
        escaped.Append(entity, text.OriginOf(i));
        written = i + 1;
      }
    }
  }
  escaped.Append(text.Part(written));
  return std::move(escaped).WithMarkup(true);
}

bool IsPythonSpace(char32_t code_point) {
  return IsWhiteSpace(code_point) || (code_point >= 0x1C && code_point <= 0x1F);
}

std::string_view WithoutSpaceBefore(std::string_view text) {
  while (!text.empty()) {
    const CodePoint first = FirstCodePoint(text);
    if (!IsPythonSpace(first.value)) {
      break;
    }
    text.remove_prefix(first.length);
  }
  return text;
}

std::string_view WithoutSpaceBehind(std::string_view text) {
  while (!text.empty()) {
    const CodePoint last = LastCodePoint(text);
    if (!IsPythonSpace(last.value)) {
      break;
    }
    text.remove_suffix(last.length);
  }
  return text;
}

}  // namespace scorecast::coordinator

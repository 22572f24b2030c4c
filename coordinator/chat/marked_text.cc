#include "coordinator/chat/marked_text.h"

#include <algorithm>

#include "coordinator/text/unicode/unicode_classes.h"
#include "coordinator/text/unicode/utf8.h"

namespace scorecast::coordinator {

std::size_t MarkedText::EndOfRun(std::size_t begin) const {
  return std::min(origins_.find_first_not_of(origins_[begin], begin), origins_.size());
}

MarkedText MarkedText::Part(std::size_t begin, std::size_t count) const {
  MarkedText part;
  part.text_ = text_.substr(begin, count);
  part.origins_ = origins_.substr(begin, count);
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

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace scorecast::coordinator {

/// A text that knows of each byte whether the template or the request has it. Only what the
/// template spells may become a control token.
class MarkedText {
 public:
  enum class Origin : char { kTemplate, kRequest };

  MarkedText() = default;
  explicit MarkedText(std::string text, Origin origin = Origin::kTemplate)
      : text_(std::move(text)), origins_(text_.size(), static_cast<char>(origin)) {}

  const std::string& text() const { return text_; }
  std::size_t size() const { return text_.size(); }
  Origin OriginOf(std::size_t byte) const { return static_cast<Origin>(origins_[byte]); }
  /// The end of the bytes that have the origin of the byte at `begin`.
  std::size_t EndOfRun(std::size_t begin) const;

  /// Whether it is a result of the filter `safe`: Jinja's Markup, with which + escapes other texts.
  bool is_markup() const { return is_markup_; }
  MarkedText WithMarkup(bool is_markup) &&;

  /// `count` bytes from `begin` on, or fewer at the text's end. A part of Markup is Markup.
  MarkedText Part(std::size_t begin, std::size_t count = std::string::npos) const;

  void Append(const MarkedText& other);
  void Append(std::string_view text, Origin origin);

 private:
  std::string text_;
  std::string origins_;  ///< [bytes]
  bool is_markup_ = false;
};

/// A text as HTML writes it, which is Markup. What is Markup stays as it is.
MarkedText Escaped(const MarkedText& text);

/// White space as Python's str.strip and Jinja's white space control see it.
bool IsPythonSpace(char32_t code_point);

// What is left of a valid text without white space at its beginning or its end.

std::string_view WithoutSpaceBefore(std::string_view text);
std::string_view WithoutSpaceBehind(std::string_view text);

}  // namespace scorecast::coordinator

#include "coordinator/chat/jinja_lexer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdlib>

#include "coordinator/chat/marked_text.h"
#include "coordinator/text/unicode/utf8.h"
#include "proto/base/one_line.h"

namespace scorecast::coordinator {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsNamePart(char c) { return IsNameStart(c) || IsDigit(c); }

/// With one kind of line end, and without the one at the end of all.
std::string Normalized(std::string_view source) {
  std::string text;
  text.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      text += source[i];
    } else if (i + 1 == source.size() || source[i + 1] != '\n') {
      text += '\n';
    }
  }
  if (text.ends_with('\n')) {
    text.pop_back();
  }
  return text;
}

class TemplateLexer {
 public:
  explicit TemplateLexer(std::string_view source) : source_(Normalized(source)) {}

  std::vector<JinjaToken> Run() {
    while (at_ < source_.size()) {
      ReadText();
    }
    begin_ = at_;
    Add(Kind::kEnd);
    return std::move(tokens_);
  }

 private:
  using Kind = JinjaToken::Kind;

  std::string_view Rest() const { return std::string_view(source_).substr(at_); }
  bool Skip(std::string_view text) {
    const bool is_there = Rest().starts_with(text);
    at_ += is_there ? text.size() : 0;
    return is_there;
  }
  void SkipSpace() { at_ = source_.size() - WithoutSpaceBefore(Rest()).size(); }

  JinjaPlace PlaceAt(std::size_t at) {
    for (; placed_ < at; ++placed_) {
      const auto byte = static_cast<unsigned char>(source_[placed_]);
      if (byte == '\n') {
        ++place_.line;
        place_.column = 1;
      } else if ((byte & 0xC0) != 0x80) {
        ++place_.column;
      }
    }
    return place_;
  }
  [[noreturn]] void Fail(const std::string& what, std::size_t at) {
    placed_ = 0;  // `at` may be before it.
    place_ = {1, 1};
    throw JinjaFault(what, PlaceAt(at));
  }

  JinjaToken& Add(Kind kind, std::string text = {}) {
    JinjaToken& token = tokens_.emplace_back();
    token.kind = kind;
    token.text = std::move(text);
    token.place = PlaceAt(begin_);
    return token;
  }

  /// Where the next tag, output or comment begins. Each byte is looked at once, so that lexing
  /// takes linear time.
  std::size_t FindOpen() const {
    std::size_t open = source_.find('{', at_);
    while (open != std::string::npos &&
           (open + 1 == source_.size() ||
            std::string_view("{%#").find(source_[open + 1]) == std::string_view::npos)) {
      open = source_.find('{', open + 1);
    }
    return open;
  }

  /// Reads text, and the tag, the output or the comment behind it.
  void ReadText() {
    begin_ = at_;
    const std::size_t open = FindOpen();
    std::string_view text = std::string_view(source_).substr(at_, open - at_);
    if (open == std::string::npos) {
      at_ = source_.size();
      Add(Kind::kText, std::string(text));
      return;
    }
    const char kind = source_[open + 1];
    at_ = open + 2;
    if (Skip("-")) {
      text = WithoutSpaceBehind(text);
    } else if (!Skip("+") && kind != '{') {
      text = WithoutIndentation(text);
    }
    if (!text.empty()) {
      Add(Kind::kText, std::string(text));
    }
    begin_ = open;
    if (kind == '#') {
      SkipComment();
    } else {
      Add(kind == '{' ? Kind::kOutputBegin : Kind::kTagBegin);
      ReadTag(kind == '{');
    }
    is_line_start_ = source_[at_ - 1] == '\n';
  }

  /// lstrip_blocks: white space between the line's beginning and a tag is no text.
  std::string_view WithoutIndentation(std::string_view text) const {
    const std::size_t line = text.rfind('\n') + 1;
    const bool is_indentation =
        (line > 0 || is_line_start_) && WithoutSpaceBefore(text.substr(line)).empty();
    return is_indentation ? text.substr(0, line) : text;
  }

  void SkipComment() {
    const std::size_t end = source_.find("#}", at_);
    if (end == std::string::npos) {
      Fail("a comment does not end", begin_);
    }
    const char before = end > at_ ? source_[end - 1] : ' ';
    at_ = end + 2;
    if (before == '-') {
      SkipSpace();
    } else if (before != '+') {
      Skip("\n");
    }
  }

  /// Whether the tag or the output ends here.
  bool SkipEnd(bool is_output) {
    if (!brackets_.empty()) {
      return false;
    }
    if (Skip(is_output ? "-}}" : "-%}")) {
      SkipSpace();
      return true;
    }
    if (is_output) {
      return Skip("}}");
    }
    if (Skip("+%}")) {
      return true;
    }
    if (Skip("%}")) {
      Skip("\n");  // trim_blocks
      return true;
    }
    return false;
  }

  void ReadTag(bool is_output) {
    const std::size_t open = begin_;
    while (true) {
      SkipSpace();
      begin_ = at_;
      if (SkipEnd(is_output)) {
        Add(is_output ? Kind::kOutputEnd : Kind::kTagEnd);
        return;
      }
      if (at_ == source_.size()) {
        Fail(is_output ? "an output does not end" : "a tag does not end", open);
      }
      ReadToken();
    }
  }

  void ReadToken() {
    const char first = source_[at_];
    if (IsNameStart(first)) {
      while (at_ < source_.size() && IsNamePart(source_[at_])) {
        ++at_;
      }
      Add(Kind::kName, source_.substr(begin_, at_ - begin_));
    } else if (IsDigit(first)) {
      ReadNumber();
    } else if (first == '"' || first == '\'') {
      ReadString(first);
    } else {
      ReadOperator();
    }
  }

  void ReadNumber() {
    const auto skip_digits = [&] {
      while (at_ < source_.size() && IsDigit(source_[at_])) {
        ++at_;
      }
    };
    skip_digits();
    const bool is_item = tokens_.back().kind == Kind::kOperator && tokens_.back().text == ".";
    const bool has_fraction =
        !is_item && at_ + 1 < source_.size() && source_[at_] == '.' && IsDigit(source_[at_ + 1]);
    if (has_fraction) {
      ++at_;
      skip_digits();
    }
    const std::string digits = source_.substr(begin_, at_ - begin_);
    const bool has_zero_before = !has_fraction && digits.size() > 1 && digits.front() == '0';
    if (has_zero_before || (at_ < source_.size() && IsNamePart(source_[at_]))) {
      Fail("this form of a number is not supported", begin_);
    }
    JinjaToken& token = Add(has_fraction ? Kind::kFloat : Kind::kInteger, digits);
    if (has_fraction) {
      token.number = std::strtod(digits.c_str(), nullptr);
      return;
    }
    const auto [end, fault] =
        std::from_chars(digits.data(), digits.data() + digits.size(), token.integer);
    if (fault != std::errc()) {
      Fail("a number is too large", begin_);
    }
  }

  void ReadString(char quote) {
    ++at_;
    std::string text;
    while (at_ < source_.size() && source_[at_] != quote) {
      if (source_[at_] == '\\' && at_ + 1 < source_.size()) {
        ReadEscape(text);
      } else {
        text += source_[at_++];
      }
    }
    if (at_ == source_.size()) {
      Fail("a string does not end", begin_);
    }
    ++at_;
    Add(Kind::kString, std::move(text));
  }

  void ReadEscape(std::string& text) {
    static constexpr std::array<std::pair<char, char>, 10> kEscapes = {{{'n', '\n'},
                                                                        {'t', '\t'},
                                                                        {'r', '\r'},
                                                                        {'\\', '\\'},
                                                                        {'\'', '\''},
                                                                        {'"', '"'},
                                                                        {'b', '\b'},
                                                                        {'f', '\f'},
                                                                        {'v', '\v'},
                                                                        {'a', '\a'}}};
    const char kind = source_[at_ + 1];
    for (const auto& [name, character] : kEscapes) {
      if (name == kind) {
        text += character;
        at_ += 2;
        return;
      }
    }
    const std::size_t digits = kind == 'x' ? 2 : kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
    // Python reads the bytes of other characters as Latin-1 behind a backslash.
    if (kind == '\n' || kind == 'N' || IsDigit(kind) || static_cast<unsigned char>(kind) > 0x7F) {
      Fail("this escape in a string is not supported", at_);
    }
    if (digits == 0) {  // As in Python, the backslash is text.
      text += '\\';
      ++at_;
      return;
    }
    std::uint32_t code_point = 0;
    const char* begin = source_.data() + std::min(at_ + 2, source_.size());
    const char* end = source_.data() + std::min(at_ + 2 + digits, source_.size());
    const auto [stop, fault] = std::from_chars(begin, end, code_point, 16);
    const bool is_surrogate = code_point >= 0xD800 && code_point < 0xE000;
    if (fault != std::errc() || stop != begin + digits || code_point > 0x10FFFF || is_surrogate) {
      Fail("an escape in a string is no character", at_);
    }
    AppendUtf8(code_point, text);
    at_ += 2 + digits;
  }

  void ReadOperator() {
    static constexpr std::array<std::string_view, 24> kOperators = {
        "//", "**", "==", "!=", "<=", ">=", "+", "-", "*", "/", "%", "~",
        "[",  "]",  "(",  ")",  "{",  "}",  "<", ">", "=", ".", ":", ","};
    if (Skip("|")) {
      Add(Kind::kOperator, "|");
      return;
    }
    const auto found = std::ranges::find_if(
        kOperators, [&](std::string_view one) { return Rest().starts_with(one); });
    if (found == kOperators.end()) {
      const std::size_t length = FirstCodePoint(Rest()).length;
      Fail("the character " + proto::Quoted(Rest().substr(0, length)) + " has no meaning here",
           at_);
    }
    const std::string_view open = "[({";
    const std::string_view close = "])}";
    if (open.find(*found) != std::string_view::npos) {
      brackets_ += close[open.find(*found)];
    } else if (close.find(*found) != std::string_view::npos) {
      if (!brackets_.ends_with(*found)) {
        Fail("an unexpected " + proto::Quoted(*found), at_);
      }
      brackets_.pop_back();
    }
    at_ += found->size();
    Add(Kind::kOperator, std::string(*found));
  }

  const std::string source_;
  std::vector<JinjaToken> tokens_;
  std::size_t at_ = 0;
  std::size_t begin_ = 0;      ///< Of the token that is read.
  std::string brackets_;       ///< Those that will close the ones that are open.
  bool is_line_start_ = true;  ///< The text to be read begins a line.
  std::size_t placed_ = 0;     ///< `place_` is that of this byte.
  JinjaPlace place_{1, 1};
};

}  // namespace

std::vector<JinjaToken> JinjaTokens(std::string_view source) { return TemplateLexer(source).Run(); }

}  // namespace scorecast::coordinator

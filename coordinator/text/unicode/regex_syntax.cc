#include "coordinator/text/unicode/regex_syntax.h"

#include <array>
#include <cstddef>
#include <utility>

#include "coordinator/text/unicode/regex.h"
#include "proto/base/one_line.h"

namespace scorecast::coordinator {
namespace {

bool IsAsciiDigit(char c) { return c >= '0' && c <= '9'; }
bool IsAsciiLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsHexDigit(char c) {
  return IsAsciiDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

class Translator {
 public:
  explicit Translator(std::string_view expression) : rest_(expression) {}

  std::string Translate() && {
    while (!rest_.empty()) {
      switch (rest_.front()) {
        case '\\':
          Escape();
          break;
        case '[':
          Class();
          break;
        case '(':
          Group();
          break;
        case '{':
          Brace();
          break;
        case '^':
        case '$':
          Refuse(rest_.substr(0, 1));
        default:
          Copy(1);
      }
    }
    return std::move(result_);
  }

 private:
  [[noreturn]] static void Refuse(std::string_view construct) {
    throw RegexError("\"" + proto::OneLine(construct, 40) + "\" is not supported in an expression");
  }

  void Copy(std::size_t count) {
    result_ += rest_.substr(0, count);
    rest_.remove_prefix(count);
  }

  void Replace(std::size_t count, std::string_view with) {
    result_ += with;
    rest_.remove_prefix(count);
  }

  /// An escape, inside or outside a class.
  void Escape() {
    if (rest_.size() < 2) {
      Refuse(rest_);
    }
    const char c = rest_[1];
    switch (c) {
      case 's':
        return Replace(2, "\\p{White_Space}");
      case 'S':
        return Replace(2, "\\P{White_Space}");
      case 'v':
        return Replace(2, "\\x0B");
      case 'd':
      case 'D':
      case 'n':
      case 'r':
      case 't':
      case 'f':
        return Copy(2);
      case 'p':
      case 'P':
        return Property();
      case 'x':
        return Hexadecimal();
      case 'u':
        return FourDigits();
      default:
        if (IsAsciiLetter(c) || IsAsciiDigit(c)) {
          Refuse(rest_.substr(0, 2));
        }
        return Copy(2);
    }
  }

  void Property() {
    const std::size_t close = rest_.find('}');
    if (rest_.size() < 4 || rest_[2] != '{' || close == std::string_view::npos) {
      Refuse(rest_.substr(0, 3));
    }
    std::string_view name = rest_.substr(3, close - 3);
    result_ += rest_.substr(0, 3);
    if (name.starts_with('^')) {
      result_ += '^';
      name.remove_prefix(1);
    }
    for (const char c : name) {
      if (!IsAsciiLetter(c) && c != '_') {
        Refuse(rest_.substr(0, close + 1));
      }
    }
    // Names of categories have one or two letters. Longer names are treated as scripts.
    if (name.size() > 2) {
      result_ += "sc:";
    }
    result_ += name;
    result_ += '}';
    rest_.remove_prefix(close + 1);
  }

  void Hexadecimal() {
    if (rest_.size() >= 4 && IsHexDigit(rest_[2]) && IsHexDigit(rest_[3])) {
      // In Oniguruma, \x80 and above are bytes, not characters.
      if (rest_[2] >= '8') {
        Refuse(rest_.substr(0, 4));
      }
      return Copy(4);
    }
    const std::size_t close = rest_.find('}');
    if (rest_.size() < 4 || rest_[2] != '{' || close == std::string_view::npos) {
      Refuse(rest_.substr(0, 4));
    }
    Copy(close + 1);
  }

  void FourDigits() {
    if (rest_.size() < 6) {
      Refuse(rest_);
    }
    const std::string_view digits = rest_.substr(2, 4);
    for (const char c : digits) {
      if (!IsHexDigit(c)) {
        Refuse(rest_.substr(0, 6));
      }
    }
    Replace(6, "\\x{" + std::string(digits) + "}");
  }

  void Class() {
    Copy(rest_.starts_with("[^") ? 2 : 1);
    if (rest_.starts_with(']')) {
      Refuse("[]");
    }
    while (!rest_.empty()) {
      switch (rest_.front()) {
        case '\\':
          Escape();
          break;
        case '[':
          Refuse("[ inside a class");
        case ']':
          return Copy(1);
        default:
          if (rest_.starts_with("&&")) {
            Refuse("&&");
          }
          Copy(1);
      }
    }
    // The closing bracket is missing; PCRE2 reports that.
  }

  void Group() {
    static constexpr std::array<std::string_view, 7> kGroups = {"(?:",  "(?i:", "(?=", "(?!",
                                                                "(?<=", "(?<!", "(?>"};
    for (const std::string_view group : kGroups) {
      if (rest_.starts_with(group)) {
        return Copy(group.size());
      }
    }
    if (rest_.starts_with("(?") || rest_.starts_with("(*")) {
      Refuse(rest_.substr(0, 4));
    }
    Copy(1);
  }

  /// A quantifier {n}, {n,} or {n,m}, or a brace that is an ordinary character.
  void Brace() {
    std::size_t end = 1;
    while (end < rest_.size() && (IsAsciiDigit(rest_[end]) || rest_[end] == ',')) {
      ++end;
    }
    const bool quantifier = end > 1 && end < rest_.size() && rest_[end] == '}';
    if (!quantifier) {
      return Copy(1);
    }
    const std::string_view following = rest_.substr(end + 1);
    // {,m} is literal in PCRE2, {n,m}+ is possessive in PCRE2, and {n}? is not lazy in Oniguruma.
    if (rest_[1] == ',' || following.starts_with('+') || following.starts_with('?')) {
      Refuse(rest_.substr(0, end + 2));
    }
    Copy(end + 1);
  }

  std::string_view rest_;
  std::string result_;
};

}  // namespace

std::string TranslateOniguruma(std::string_view expression) {
  return Translator(expression).Translate();
}

std::string QuoteForRegex(std::string_view text) {
  std::string expression;
  for (const char c : text) {
    const bool ascii = static_cast<unsigned char>(c) < 0x80;
    if (ascii && !IsAsciiLetter(c) && !IsAsciiDigit(c)) {
      expression += '\\';
    }
    expression += c;
  }
  return expression;
}

}  // namespace scorecast::coordinator

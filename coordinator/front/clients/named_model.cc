#include "coordinator/front/clients/named_model.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <system_error>

#include <nlohmann/json.hpp>

#include "coordinator/json/body_members.h"

namespace scorecast::coordinator {
namespace {

/// Goes through the tokens of a JSON text, as far as they matter for the member of an object.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  /// The next character that is no white space; 0 at the end.
  char Peek() {
    at_ = text_.find_first_not_of(" \t\r\n", at_);
    if (at_ == std::string_view::npos) {
      at_ = text_.size();
    }
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool Take(char wanted) {
    if (Peek() != wanted) {
      return false;
    }
    ++at_;
    return true;
  }
  /// A string with its quotes.
  std::optional<std::string_view> TakeString() {
    if (Peek() != '"') {
      return std::nullopt;
    }
    const std::size_t begin = at_;
    for (++at_; at_ < text_.size(); ++at_) {
      at_ = text_.find_first_of("\"\\", at_);
      if (at_ == std::string_view::npos) {
        break;
      }
      if (text_[at_] == '"') {
        return text_.substr(begin, ++at_ - begin);
      }
      ++at_;  // What is escaped.
    }
    at_ = text_.size();
    return std::nullopt;
  }
  /// A value of any kind. Nothing if the text ends in it.
  std::optional<std::string_view> TakeValue() {
    Peek();
    const std::size_t begin = at_;
    return SkipValue() ? std::optional(text_.substr(begin, at_ - begin)) : std::nullopt;
  }

 private:
  bool SkipValue() {
    std::size_t depth = 0;
    do {
      const char next = Peek();
      if (next == '"') {
        if (!TakeString()) {
          return false;
        }
      } else if (next == '{' || next == '[') {
        ++depth;
        ++at_;
        continue;
      } else if (next == '}' || next == ']') {
        if (depth == 0) {
          return false;
        }
        --depth;
        ++at_;
      } else if (next == '\0') {
        return false;
      } else if (depth > 0) {
        // Nothing else in a list or an object matters here.
        at_ = std::min(text_.find_first_of("\"{}[]", at_), text_.size());
        continue;
      } else {
        at_ = std::min(text_.find_first_of(",}] \t\r\n", at_), text_.size());
      }
    } while (depth > 0);
    return true;
  }

  const std::string_view text_;
  std::size_t at_ = 0;
};

constexpr std::size_t kMostBytes = std::size_t{1} << 20;
constexpr std::size_t kMostModelBytes = std::size_t{64} << 10;

/// The text of a string with its quotes; empty if it is none.
std::string TextOf(std::string_view quoted) {
  if (!quoted.starts_with('"') || quoted.size() > kMostModelBytes) {
    return {};
  }
  const auto value = nlohmann::json::parse(quoted, /*cb=*/nullptr, /*allow_exceptions=*/false);
  return value.is_string() ? value.get<std::string>() : std::string();
}

std::optional<std::int64_t> NumberOf(std::string_view text) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, fault] = std::from_chars(text.data(), end, number);
  return fault == std::errc() && rest == end ? std::optional(number) : std::nullopt;
}

}  // namespace

NamedInRequest NamedInJson(std::string_view json) {
  // Clients write these members first or last. Short requests are looked through as a whole.
  Scanner scanner(json.substr(0, kMostBytes));
  NamedInRequest named;
  bool has_model = false;
  if (!scanner.Take('{')) {
    return named;
  }
  do {
    const auto name = scanner.TakeString();
    if (!name || !scanner.Take(':')) {
      return named;
    }
    const std::optional<std::string_view> value = scanner.TakeValue();
    if (!value) {
      return named;
    }
    if (!has_model && *name == R"("model")") {
      named.model = TextOf(*value);
      has_model = true;
    } else if (*name == R"("timeout_ms")") {
      named.timeout_ms = NumberOf(*value);
    }
  } while (!(has_model && named.timeout_ms) && scanner.Take(','));
  return named;
}

}  // namespace scorecast::coordinator

#include "coordinator/front/clients/named_model.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include <nlohmann/json.hpp>

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
  /// A value of any kind. False if the text ends in it.
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

 private:
  const std::string_view text_;
  std::size_t at_ = 0;
};

/// The text of a string with its quotes; empty if it is none.
std::string TextOf(std::string_view quoted) {
  const auto value = nlohmann::json::parse(quoted, /*cb=*/nullptr, /*allow_exceptions=*/false);
  return value.is_string() ? value.get<std::string>() : std::string();
}

}  // namespace

std::string ModelInJson(std::string_view json) {
  Scanner scanner(json);
  if (!scanner.Take('{')) {
    return {};
  }
  do {
    const auto name = scanner.TakeString();
    if (!name || !scanner.Take(':')) {
      return {};
    }
    if (*name == R"("model")") {
      const auto model = scanner.TakeString();
      return model ? TextOf(*model) : std::string();
    }
    if (!scanner.SkipValue()) {
      return {};
    }
  } while (scanner.Take(','));
  return {};
}

}  // namespace scorecast::coordinator

#include "coordinator/json/json_text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "coordinator/json/body_members.h"
#include "coordinator/request/request_error.h"
#include "coordinator/request/value_limit.h"
#include "coordinator/text/unicode/utf8.h"
#include "proto/base/one_line.h"

namespace scorecast::coordinator {
namespace {

using proto::Unexpected;

constexpr int kMaxDepth = 32;

/// What a text has outside its strings.
struct Contents {
  bool is_too_deep = false;
  std::int64_t values = 0;  ///< Strings, lists and objects.
};

/// Counts brackets and strings. Called before parsing, because a text of nothing but these takes up
/// to a hundred times its size when parsed.
Contents ContentsOf(std::string_view text) {
  Contents contents;
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
      }
    } else if (c == '"') {
      in_string = true;
      ++contents.values;
    } else if (c == '[' || c == '{') {
      ++contents.values;
      contents.is_too_deep = contents.is_too_deep || ++depth > kMaxDepth;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return contents;
}

bool IsBeginOfCharacter(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

/// "line 2, column 5", or only the column if the text is a single line. Columns are characters.
std::string PlaceText(std::string_view text, std::size_t index) {
  const std::string_view before = text.substr(0, index);
  const std::size_t line_break = before.rfind('\n');
  const std::string_view line =
      line_break == std::string_view::npos ? before : before.substr(line_break + 1);
  const std::string column =
      "column " + std::to_string(std::ranges::count_if(line, IsBeginOfCharacter) + 1);
  return text.find('\n') == std::string_view::npos
             ? column
             : "line " + std::to_string(std::ranges::count(before, '\n') + 1) + ", " + column;
}

/// Notes where the parser finds a fault.
class FaultPlace : public nlohmann::json_sax<BodyJson> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return true; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t position, const std::string& last_token,
                   const nlohmann::detail::exception& /*fault*/) override {
    begin_ = position - std::min(position, last_token.size());
    token_ = last_token;
    return false;
  }

  std::size_t begin() const { return begin_; }  ///< Of the token, in bytes.
  const std::string& token() const { return token_; }

 private:
  std::size_t begin_ = 0;
  std::string token_;
};

/// Builds what a text has. The library's own builder makes a double of an integer that does not fit
/// into 64 bits.
class BodyBuilder : public nlohmann::detail::json_sax_dom_parser<BodyJson> {
 public:
  using Base = nlohmann::detail::json_sax_dom_parser<BodyJson>;
  using Base::Base;

  bool number_float(double number, const std::string& text) {
    if (text.find_first_of(".eE") != std::string::npos) {
      return Base::number_float(number, text);
    }
    BodyJson::binary_t digits(std::vector<std::uint8_t>(text.begin(), text.end()));
    return binary(digits);
  }
};

/// A number is outside the range of double.
proto::Error OutOfRange(std::string_view text) {
  constexpr std::size_t kShown = 24;
  FaultPlace place;
  BodyJson::sax_parse(text, &place);
  const std::string_view token = place.token();
  return BadRequest(
      "invalid_json",
      "A number in the JSON is out of range: " + std::string(token.substr(0, kShown)) +
          (token.size() > kShown ? "…" : "") + " at " + PlaceText(text, place.begin()) + ".",
      "");
}

/// The parser's fault is that of the character at `index`.
proto::Error NotJson(std::string_view text, std::size_t index, bool is_surrogate) {
  constexpr std::size_t kShownBefore = 16;
  std::string fault;
  if (index >= text.size()) {
    fault = "it ends too soon, at " + PlaceText(text, text.size());
  } else if (is_surrogate) {
    fault = "a lone surrogate at " + PlaceText(text, index) +
            "; in a text, \\uD800 to \\uDBFF and \\uDC00 to \\uDFFF come in pairs";
  } else {
    std::size_t begin = index - std::min(index, kShownBefore);
    while (begin < index && !IsBeginOfCharacter(text[begin])) {
      ++begin;
    }
    std::size_t end = index + 1;
    while (end < text.size() && !IsBeginOfCharacter(text[end])) {
      ++end;
    }
    const std::string_view after = text.substr(begin, index - begin);
    fault = "unexpected " + proto::Quoted(text.substr(index, end - index)) + " at " +
            PlaceText(text, index) + (after.empty() ? "" : ", after " + proto::Quoted(after));
  }
  return BadRequest("invalid_json", "The request is not JSON: " + fault + ".", "");
}

proto::Expected<BodyJson> Parse(std::string_view text, std::int64_t max_values) {
  // The parser would take a zero byte for the end of the text.
  const std::size_t zero = text.find('\0');
  if (zero != std::string_view::npos) {
    return Unexpected(NotJson(text, zero, /*is_surrogate=*/false));
  }
  const Contents contents = ContentsOf(text);
  if (contents.is_too_deep) {
    return Unexpected(BadRequest(
        "invalid_json",
        "The JSON is nested too deep: more than " + std::to_string(kMaxDepth) + " levels.", ""));
  }
  if (contents.values > max_values) {
    return Unexpected(TooManyValues(max_values));
  }
  try {
    BodyJson json;
    BodyBuilder builder(json);
    BodyJson::sax_parse(text, &builder);
    return json;
  } catch (const BodyJson::parse_error& error) {
    // Behind "last read" stands the client's text.
    const std::string_view what = error.what();
    const bool is_surrogate =
        what.substr(0, what.find("; last read")).find("surrogate U+D") != std::string_view::npos;
    return Unexpected(NotJson(text, std::max(error.byte, std::size_t{1}) - 1, is_surrogate));
  } catch (const BodyJson::exception&) {
    return Unexpected(OutOfRange(text));
  }
}

}  // namespace

proto::Expected<BodyJson> ParseJson(std::string_view text, std::int64_t max_values) {
  proto::Expected<BodyJson> parsed = Parse(text, max_values);
  // The parser takes no text that is not valid UTF-8, and outside of texts only ASCII. So UTF-8 is
  // checked only in order to say why a request is refused.
  if (!parsed && !IsValidUtf8(text)) {
    return Unexpected(BadRequest("invalid_utf8", "The request is not valid UTF-8.", ""));
  }
  return parsed;
}

std::string ToJsonText(const OrderedJson& json) {
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

}  // namespace scorecast::coordinator

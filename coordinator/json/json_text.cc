#include "coordinator/json/json_text.h"

#include <cstddef>

#include <nlohmann/json.hpp>

#include "coordinator/json/body_members.h"
#include "coordinator/request/request_error.h"
#include "coordinator/request/value_limit.h"
#include "coordinator/text/unicode/utf8.h"

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

proto::Expected<BodyJson> Parse(std::string_view text, std::int64_t max_values) {
  // The parser would take a zero byte for the end of the text.
  const std::size_t zero = text.find('\0');
  if (zero != std::string_view::npos) {
    return Unexpected(
        BadRequest("invalid_json",
                   "The request is not JSON: error at byte " + std::to_string(zero + 1) + ".", ""));
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
    return BodyJson::parse(text);
  } catch (const BodyJson::parse_error& error) {
    return Unexpected(BadRequest(
        "invalid_json",
        "The request is not JSON: error at byte " + std::to_string(error.byte) + ".", ""));
  } catch (const BodyJson::exception&) {
    // A number is outside the range of double.
    return Unexpected(BadRequest("invalid_json", "A number in the JSON is out of range.", ""));
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

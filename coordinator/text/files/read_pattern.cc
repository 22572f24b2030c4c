#include "coordinator/text/files/read_pattern.h"

#include <optional>

#include "coordinator/text/unicode/regex_syntax.h"

namespace scorecast::coordinator {

Regex ReadPattern(const JsonCursor& pattern) {
  const std::optional<JsonCursor> text = pattern.Find("String");
  if (text && text->String().empty()) {
    text->Fail("must not be empty");
  }
  const JsonCursor source = text ? *text : pattern.At("Regex");
  try {
    return Regex(text ? QuoteForRegex(source.String()) : source.String());
  } catch (const RegexError& error) {
    source.Fail(error.what());
  }
}

}  // namespace scorecast::coordinator

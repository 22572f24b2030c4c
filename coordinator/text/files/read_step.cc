#include "coordinator/text/files/read_step.h"

#include <optional>
#include <string>

#include "coordinator/text/unicode/regex_syntax.h"
#include "coordinator/text/unicode/utf8.h"

namespace scorecast::coordinator {
namespace {

constexpr int kMaxNestedSteps = 8;  ///< No tokenizer nests more than two.

void ForEachStep(const JsonCursor& part, std::string_view list, int depth,
                 const std::function<void(const JsonCursor&)>& step) {
  const JsonCursor type = part.At("type");
  if (type.String() != "Sequence") {
    step(part);
    return;
  }
  if (depth == kMaxNestedSteps) {
    type.Fail("more than " + std::to_string(kMaxNestedSteps) + " sequences inside each other");
  }
  part.At(list).ForEachElement(
      [&](const JsonCursor& element) { ForEachStep(element, list, depth + 1, step); });
}

}  // namespace

void ForEachStep(const JsonCursor& part, std::string_view list,
                 const std::function<void(const JsonCursor&)>& step) {
  ForEachStep(part, list, 0, step);
}

void RefuseType(const JsonCursor& step) {
  const JsonCursor type = step.At("type");
  type.Fail(Quoted(type.String()) + " is not supported here");
}

const std::string& ReadCharacter(const JsonCursor& step, std::string_view name) {
  const JsonCursor member = step.At(name);
  const std::string& text = member.String();
  if (text.empty() || FirstCodePoint(text).length != text.size()) {
    member.Fail(Quoted(text) + " is not one character");
  }
  return text;
}

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

#include "coordinator/text/files/read_sequence.h"

#include <string>

#include "coordinator/text/unicode/utf8.h"

namespace scorecast::coordinator {
namespace {

constexpr int kMaxDepth = 8;  ///< No tokenizer nests more than two.

void ForEachStep(const JsonCursor& part, std::string_view list, int depth,
                 const std::function<void(const JsonCursor&)>& step) {
  const JsonCursor type = part.At("type");
  if (type.String() != "Sequence") {
    step(part);
    return;
  }
  if (depth == kMaxDepth) {
    type.Fail("more than " + std::to_string(kMaxDepth) + " sequences inside each other");
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

}  // namespace scorecast::coordinator

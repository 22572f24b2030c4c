#include "coordinator/text/files/read_post_processor.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "coordinator/text/files/read_step.h"

namespace scorecast::coordinator {
namespace {

using proto::TokenId;

AddedAround ReadTemplate(const JsonCursor& processor, std::int64_t vocab_size) {
  AddedAround around;
  bool text_seen = false;
  processor.At("single").ForEachElement([&](const JsonCursor& piece) {
    if (const std::optional<JsonCursor> sequence = piece.Find("Sequence")) {
      if (text_seen || sequence->At("id").String() != "A") {
        piece.Fail("only one sequence, \"A\", is supported");
      }
      text_seen = true;
      return;
    }
    const std::string& name = piece.At("SpecialToken").At("id").String();
    std::vector<TokenId>& side = text_seen ? around.suffix : around.prefix;
    processor.At("special_tokens").At(name).At("ids").ForEachElement([&](const JsonCursor& id) {
      side.push_back(static_cast<TokenId>(id.Integer(0, vocab_size - 1)));
    });
  });
  if (!text_seen) {
    processor.At("single").Fail("does not contain the sequence \"A\"");
  }
  return around;
}

/// Reads `cls` and `sep`, each of which is [text, id].
AddedAround ReadClassAndSeparator(const JsonCursor& processor, std::int64_t vocab_size) {
  const auto read = [&](std::string_view name) {
    std::vector<TokenId> ids;
    const JsonCursor pair = processor.At(name);
    pair.ForEachElement([&](const JsonCursor& element) {
      if (!element.value().is_string()) {
        ids.push_back(static_cast<TokenId>(element.Integer(0, vocab_size - 1)));
      }
    });
    if (pair.value().size() != 2 || ids.size() != 1) {
      pair.Fail("not a pair [text, id]");
    }
    return ids;
  };
  return {.prefix = read("cls"), .suffix = read("sep")};
}

/// Adds the tokens of one processor of a Sequence around the tokens of the processors before it.
void Add(const JsonCursor& processor, std::int64_t vocab_size, AddedAround& around) {
  const std::string_view type = processor.At("type").String();
  if (type == "ByteLevel") {
    return;  // This processor only changes offsets.
  }
  AddedAround outer;
  if (type == "TemplateProcessing") {
    outer = ReadTemplate(processor, vocab_size);
  } else if (type == "RobertaProcessing" || type == "BertProcessing") {
    outer = ReadClassAndSeparator(processor, vocab_size);
  } else {
    RefuseType(processor);
  }
  outer.prefix.insert(outer.prefix.end(), around.prefix.begin(), around.prefix.end());
  around.suffix.insert(around.suffix.end(), outer.suffix.begin(), outer.suffix.end());
  around.prefix = std::move(outer.prefix);
}

}  // namespace

AddedAround ReadPostProcessor(const JsonCursor& post_processor, std::int64_t vocab_size) {
  AddedAround around;
  ForEachStep(post_processor, "processors",
              [&](const JsonCursor& processor) { Add(processor, vocab_size, around); });
  return around;
}

}  // namespace scorecast::coordinator

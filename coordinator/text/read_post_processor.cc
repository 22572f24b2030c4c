#include "coordinator/text/read_post_processor.h"

#include <optional>
#include <string>

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

/// Adds the tokens of one processor of a Sequence outside of those that the processors before it
/// added.
void Add(const JsonCursor& processor, std::int64_t vocab_size, AddedAround& around) {
  const JsonCursor type = processor.At("type");
  if (type.String() == "TemplateProcessing") {
    AddedAround outer = ReadTemplate(processor, vocab_size);
    outer.prefix.insert(outer.prefix.end(), around.prefix.begin(), around.prefix.end());
    around.suffix.insert(around.suffix.end(), outer.suffix.begin(), outer.suffix.end());
    around.prefix = std::move(outer.prefix);
  } else if (type.String() != "ByteLevel") {  // ByteLevel only changes offsets.
    type.Fail(Quoted(type.String()) + " is not supported here");
  }
}

}  // namespace

AddedAround ReadPostProcessor(const JsonCursor& post_processor, std::int64_t vocab_size) {
  AddedAround around;
  if (post_processor.At("type").String() == "Sequence") {
    post_processor.At("processors").ForEachElement([&](const JsonCursor& processor) {
      Add(processor, vocab_size, around);
    });
  } else {
    Add(post_processor, vocab_size, around);
  }
  return around;
}

}  // namespace scorecast::coordinator

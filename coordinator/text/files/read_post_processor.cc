#include "coordinator/text/files/read_post_processor.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coordinator/text/files/read_step.h"

namespace scorecast::coordinator {
namespace {

using proto::TokenId;
using Part = TokenTemplate::Part;
using Parts = TokenTemplate::Parts;

/// What post-processors make of one or two texts. Each processor gets the pieces that the one
/// before has made. At first there is a piece for each text; in the end all pieces are joined.
using Pieces = std::vector<Parts>;

std::uint8_t ReadType(const JsonCursor& place) {
  const std::optional<JsonCursor> type = place.Find("type_id");
  return type ? static_cast<std::uint8_t>(type->Integer(0, UINT8_MAX)) : std::uint8_t{0};
}

/// Reads `single` or `pair` of a TemplateProcessing for as many texts as `pieces` are. Each text is
/// in the template once.
Pieces ApplyTemplate(const JsonCursor& processor, std::int64_t vocab_size, const Pieces& pieces) {
  const bool is_pair = pieces.size() == 2;
  if (pieces.size() > 2) {
    processor.Fail("a template behind another processor is not supported");
  }
  const std::optional<JsonCursor> parts = processor.Find(is_pair ? "pair" : "single");
  if (is_pair && (!parts || parts->value().empty())) {
    return pieces;  // Such a template is for single texts only.
  }
  Pieces result;
  std::vector<bool> seen(pieces.size());
  (parts ? *parts : processor.At("single")).ForEachElement([&](const JsonCursor& part) {
    if (const std::optional<JsonCursor> sequence = part.Find("Sequence")) {
      const std::string& name = sequence->At("id").String();
      const std::size_t text = name == "B" ? 1 : 0;
      if ((name != "A" && name != "B") || text >= seen.size() || seen[text]) {
        part.Fail(is_pair ? "the sequences \"A\" and \"B\" are supported, each of them once"
                          : "only one sequence, \"A\", is supported");
      }
      seen[text] = true;
      result.push_back(pieces[text]);
      for (Part& inner : result.back()) {
        inner.type = ReadType(*sequence);
      }
      return;
    }
    const JsonCursor token = part.At("SpecialToken");
    Parts ids;
    processor.At("special_tokens")
        .At(token.At("id").String())
        .At("ids")
        .ForEachElement([&](const JsonCursor& id) {
          ids.push_back(
              {.id = static_cast<TokenId>(id.Integer(0, vocab_size - 1)), .type = ReadType(token)});
        });
    result.push_back(std::move(ids));
  });
  for (std::size_t text = 0; text < seen.size(); ++text) {
    if (!seen[text]) {
      parts->Fail("does not contain the sequence \"" + std::string(text == 0 ? "A" : "B") + "\"");
    }
  }
  return result;
}

/// Reads `cls` or `sep`, which is [text, id].
TokenId ReadTextAndId(const JsonCursor& pair, std::int64_t vocab_size) {
  std::vector<TokenId> ids;
  pair.ForEachElement([&](const JsonCursor& element) {
    if (!element.value().is_string()) {
      ids.push_back(static_cast<TokenId>(element.Integer(0, vocab_size - 1)));
    }
  });
  if (pair.value().size() != 2 || ids.size() != 1) {
    pair.Fail("not a pair [text, id]");
  }
  return ids.front();
}

/// BertProcessing and RobertaProcessing: `cls` before the first piece, and `sep` behind each one.
/// RobertaProcessing has `sep` before each later piece, too, and only the type 0.
void AddClassAndSeparators(const JsonCursor& processor, std::int64_t vocab_size, bool is_roberta,
                           Pieces& pieces) {
  const TokenId cls = ReadTextAndId(processor.At("cls"), vocab_size);
  const TokenId sep = ReadTextAndId(processor.At("sep"), vocab_size);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    Parts& piece = pieces[i];
    if (i == 0 || is_roberta) {
      piece.insert(piece.begin(), {.id = i == 0 ? cls : sep});
    }
    piece.push_back({.id = sep, .type = static_cast<std::uint8_t>(i == 0 ? 0 : 1)});
    if (is_roberta) {
      for (Part& part : piece) {
        part.type = 0;
      }
    }
  }
}

Parts Process(const JsonCursor& post_processor, std::int64_t vocab_size, Pieces pieces) {
  ForEachStep(post_processor, "processors", [&](const JsonCursor& processor) {
    const std::string_view type = processor.At("type").String();
    if (type == "TemplateProcessing") {
      pieces = ApplyTemplate(processor, vocab_size, pieces);
    } else if (type == "RobertaProcessing" || type == "BertProcessing") {
      AddClassAndSeparators(processor, vocab_size, type == "RobertaProcessing", pieces);
    } else if (type != "ByteLevel") {  // ByteLevel only changes offsets.
      RefuseType(processor);
    }
  });
  Parts joined;
  for (const Parts& piece : pieces) {
    joined.insert(joined.end(), piece.begin(), piece.end());
  }
  return joined;
}

}  // namespace

TokenTemplate ReadPostProcessor(const JsonCursor& post_processor, std::int64_t vocab_size) {
  const TokenTemplate nothing_added;
  Pieces pair;
  for (const Part& text : nothing_added.pair) {
    pair.push_back({text});
  }
  return {.single = Process(post_processor, vocab_size, {nothing_added.single}),
          .pair = Process(post_processor, vocab_size, std::move(pair))};
}

}  // namespace scorecast::coordinator

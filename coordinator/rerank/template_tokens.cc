#include "coordinator/rerank/template_tokens.h"

#include <algorithm>
#include <utility>

#include "proto/base/one_line.h"

namespace scorecast::coordinator {

std::optional<TemplateTokens> TemplateTokens::Make(const RerankTemplate& from,
                                                   const Tokenizer& tokenizer,
                                                   std::string& why_not) {
  const std::vector<SpecialToken> control_tokens = ControlTokens(tokenizer);
  if (const std::string* missing = MissingToken(from.control_tokens, control_tokens)) {
    why_not = "the vocabulary has no token " + proto::Quoted(*missing);
    return std::nullopt;
  }
  TemplateTokens result(tokenizer);
  std::vector<std::string> order;
  for (const TemplateText& piece : from.pieces) {
    for (const TemplatePart& part : piece) {
      order.push_back(part.place);
    }
  }
  const auto place = [&](const char* name) { return std::find(order.begin(), order.end(), name); };
  result.is_document_first_ = place("document") < place("query");
  result.takes_instruction_ = place("instruction") != order.end();
  for (const bool with_instruction : {false, true}) {
    SectionsBuilder builder(tokenizer, control_tokens);
    for (const TemplateText& piece : from.pieces) {
      builder.BeginPiece();
      for (TemplatePart part : piece) {
        if (with_instruction || part.condition.empty()) {
          part.condition.clear();
          builder.Add(part);
        }
      }
    }
    if (!builder.greedy_token().empty()) {
      why_not = "the token " + proto::Quoted(builder.greedy_token()) +
                " depends on the text beside it (lstrip, rstrip, single_word)";
      return std::nullopt;
    }
    (with_instruction ? result.with_instruction_ : result.without_instruction_) =
        builder.FinishPrompt();
  }
  return result;
}

}  // namespace scorecast::coordinator

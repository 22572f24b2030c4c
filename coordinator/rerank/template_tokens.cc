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
  std::string own_text;
  for (const TemplateText& piece : from.pieces) {
    for (const TemplatePart& part : piece) {
      order.push_back(part.place);
      own_text += part.text + '\n';
    }
  }
  for (const SpecialToken& token : control_tokens) {
    if (own_text.find(token.text) != std::string::npos) {
      result.control_tokens_.push_back(token.text);
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

const std::string* TemplateTokens::ControlTokenIn(std::string_view text) const {
  const auto found = std::ranges::find_if(control_tokens_, [text](const std::string& token) {
    return text.find(token) != std::string_view::npos;
  });
  return found == control_tokens_.end() ? nullptr : &*found;
}

}  // namespace scorecast::coordinator

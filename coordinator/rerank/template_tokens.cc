#include "coordinator/rerank/template_tokens.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "coordinator/text/unicode/unicode_classes.h"
#include "coordinator/text/unicode/utf8.h"
#include "proto/base/one_line.h"

namespace scorecast::coordinator {
namespace {

using PartKind = RerankTemplate::PartKind;

bool HasInk(std::string_view text) {
  while (!text.empty()) {
    const CodePoint first = FirstCodePoint(text);
    if (!IsWhiteSpace(first.value)) {
      return true;
    }
    text.remove_prefix(first.length);
  }
  return false;
}

/// The control tokens of a vocabulary: white space is text. The longest first.
std::vector<SpecialToken> ControlTokens(const Tokenizer& tokenizer) {
  std::vector<SpecialToken> tokens = tokenizer.special_tokens();
  std::erase_if(tokens, [](const SpecialToken& token) { return !HasInk(token.text); });
  std::stable_sort(tokens.begin(), tokens.end(), [](const SpecialToken& a, const SpecialToken& b) {
    return a.text.size() > b.text.size();
  });
  return tokens;
}

/// Makes sections part by part.
class SectionsBuilder {
 public:
  SectionsBuilder(const Tokenizer& tokenizer, const std::vector<SpecialToken>& control_tokens)
      : tokenizer_(tokenizer), control_tokens_(control_tokens) {}

  void BeginPiece() {
    EndRun();
    run_.options = {.special_tokens = SpecialTokensInText::kEscape};
  }

  void Add(const RerankTemplate::Part& part) {
    if (part.kind != PartKind::kText) {
      run_.parts.push_back(part);
      return;
    }
    std::string_view text = part.text;
    std::size_t at = 0;
    while (at < text.size()) {
      const auto token = std::find_if(
          control_tokens_.begin(), control_tokens_.end(),
          [&](const SpecialToken& one) { return text.substr(at).starts_with(one.text); });
      if (token == control_tokens_.end()) {
        ++at;
        continue;
      }
      AddText(text.substr(0, at));
      AddControl(*token);
      text.remove_prefix(at + token->text.size());
      at = 0;
    }
    AddText(text);
  }

  std::vector<TemplateTokens::Section> Finish() && {
    EndRun();
    if (tokenizer_.bos() && (!begins_with_token_ || first_token_ != *tokenizer_.bos())) {
      sections_.insert(sections_.begin(), std::vector<TokenId>{*tokenizer_.bos()});
    }
    return std::move(sections_);
  }

  /// A control token that takes white space beside it along; empty if none does.
  const std::string& greedy_token() const { return greedy_token_; }

 private:
  void AddText(std::string_view text) {
    if (text.empty()) {
      return;
    }
    if (!run_.parts.empty() && run_.parts.back().kind == PartKind::kText) {
      run_.parts.back().text += text;
    } else {
      run_.parts.push_back({.text = std::string(text)});
    }
  }

  void AddControl(const SpecialToken& token) {
    EndRun();
    if (sections_.empty()) {
      begins_with_token_ = true;
      first_token_ = token.id;
    }
    if (token.takes_neighbours) {
      greedy_token_ = token.text;
    }
    AddIds({token.id});
    run_.options = {
        .at_start = false, .behind_token = true, .special_tokens = SpecialTokensInText::kEscape};
  }

  void AddIds(const std::vector<TokenId>& ids) {
    if (sections_.empty() || !std::holds_alternative<std::vector<TokenId>>(sections_.back())) {
      sections_.emplace_back(std::vector<TokenId>());
    }
    auto& last = std::get<std::vector<TokenId>>(sections_.back());
    last.insert(last.end(), ids.begin(), ids.end());
  }

  void EndRun() {
    TemplateTokens::Run run = std::exchange(run_, {});
    if (run.parts.empty()) {
      return;
    }
    if (run.parts.size() == 1 && run.parts.front().kind == PartKind::kText) {
      AddIds(tokenizer_.Encode(run.parts.front().text, run.options));
    } else {
      sections_.emplace_back(std::move(run));
    }
  }

  const Tokenizer& tokenizer_;
  const std::vector<SpecialToken>& control_tokens_;
  std::vector<TemplateTokens::Section> sections_;
  TemplateTokens::Run run_;
  bool begins_with_token_ = false;
  TokenId first_token_ = 0;
  std::string greedy_token_;
};

}  // namespace

std::optional<TemplateTokens> TemplateTokens::Make(const RerankTemplate& from,
                                                   const Tokenizer& tokenizer,
                                                   std::string& why_not) {
  const std::vector<SpecialToken> control_tokens = ControlTokens(tokenizer);
  for (const std::string& needed : from.control_tokens) {
    if (std::none_of(control_tokens.begin(), control_tokens.end(),
                     [&](const SpecialToken& token) { return token.text == needed; })) {
      why_not = "the vocabulary has no token " + proto::Quoted(needed);
      return std::nullopt;
    }
  }
  TemplateTokens result(tokenizer);
  std::vector<PartKind> order;
  for (const RerankTemplate::Piece& piece : from.pieces) {
    for (const RerankTemplate::Part& part : piece) {
      order.push_back(part.kind);
    }
  }
  const auto place = [&](PartKind kind) { return std::find(order.begin(), order.end(), kind); };
  result.is_document_first_ = place(PartKind::kDocument) < place(PartKind::kQuery);
  result.takes_instruction_ = place(PartKind::kInstruction) != order.end();
  for (const bool with_instruction : {false, true}) {
    SectionsBuilder builder(tokenizer, control_tokens);
    for (const RerankTemplate::Piece& piece : from.pieces) {
      builder.BeginPiece();
      for (const RerankTemplate::Part& part : piece) {
        if (with_instruction || !part.only_with_instruction) {
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
        std::move(builder).Finish();
  }
  return result;
}

}  // namespace scorecast::coordinator

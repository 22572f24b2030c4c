#include "coordinator/templates/template_sections.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "coordinator/text/unicode/unicode_classes.h"

namespace scorecast::coordinator {

std::vector<SpecialToken> ControlTokens(const Tokenizer& tokenizer) {
  std::vector<SpecialToken> tokens = tokenizer.special_tokens();
  std::erase_if(tokens,
                [](const SpecialToken& token) { return WithoutLeadingSpace(token.text).empty(); });
  std::stable_sort(tokens.begin(), tokens.end(), [](const SpecialToken& a, const SpecialToken& b) {
    return a.text.size() > b.text.size();
  });
  return tokens;
}

const std::string* MissingToken(std::span<const std::string> needed,
                                std::span<const SpecialToken> control_tokens) {
  for (const std::string& text : needed) {
    if (std::ranges::find(control_tokens, text, &SpecialToken::text) == control_tokens.end()) {
      return &text;
    }
  }
  return nullptr;
}

void SectionsBuilder::BeginPiece(bool at_start) {
  EndRun();
  run_.options = {.at_start = at_start, .special_tokens = SpecialTokensInText::kEscape};
}

void SectionsBuilder::Add(const TemplatePart& part) {
  if (!part.is_text()) {
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
    if (!part.condition.empty()) {
      conditional_token_ = token->text;
    }
    AddText(text.substr(0, at), part.condition);
    AddControl(*token);
    text.remove_prefix(at + token->text.size());
    at = 0;
  }
  AddText(text, part.condition);
}

std::vector<TemplateSection> SectionsBuilder::FinishPrompt() {
  EndRun();
  if (tokenizer_.bos() && (!begins_with_token_ || first_token_ != *tokenizer_.bos())) {
    sections_.insert(sections_.begin(), std::vector<TokenId>{*tokenizer_.bos()});
  }
  return std::move(sections_);
}

std::vector<TemplateSection> SectionsBuilder::Finish() {
  EndRun();
  return std::move(sections_);
}

void SectionsBuilder::AddText(std::string_view text, const std::string& condition) {
  if (text.empty()) {
    return;
  }
  if (!run_.parts.empty() && run_.parts.back().is_text() &&
      run_.parts.back().condition == condition) {
    run_.parts.back().text += text;
  } else {
    run_.parts.push_back({.text = std::string(text), .condition = condition});
  }
}

void SectionsBuilder::AddControl(const SpecialToken& token) {
  EndRun();
  if (sections_.empty()) {
    begins_with_token_ = true;
    first_token_ = token.id;
  }
  if (token.takes_neighbours()) {
    greedy_token_ = token.text;
  }
  AddIds({token.id});
  run_.options = {
      .at_start = false, .behind_token = true, .special_tokens = SpecialTokensInText::kEscape};
}

void SectionsBuilder::AddIds(const std::vector<TokenId>& ids) {
  if (sections_.empty() || !std::holds_alternative<std::vector<TokenId>>(sections_.back())) {
    sections_.emplace_back(std::vector<TokenId>());
  }
  auto& last = std::get<std::vector<TokenId>>(sections_.back());
  last.insert(last.end(), ids.begin(), ids.end());
}

void SectionsBuilder::EndRun() {
  TemplateRun run = std::exchange(run_, {});
  last_run_ = run;
  if (run.parts.empty()) {
    return;
  }
  const TemplatePart& first = run.parts.front();
  if (run.parts.size() == 1 && first.is_text() && first.condition.empty()) {
    AddIds(tokenizer_.Encode(first.text, run.options));
  } else {
    sections_.emplace_back(std::move(run));
  }
}

}  // namespace scorecast::coordinator

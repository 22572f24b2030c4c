#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "coordinator/templates/template_text.h"
#include "coordinator/text/tokenizer.h"

namespace scorecast::coordinator {

/// The text between two control tokens, or a piece that is tokenized by itself.
struct TemplateRun {
  TemplateText parts;
  EncodeOptions options;
};
/// Tokens that are the same for all requests, or text that is tokenized together with a request's.
using TemplateSection = std::variant<std::vector<TokenId>, TemplateRun>;

/// The control tokens of a vocabulary, the longest first. White space is no control token.
std::vector<SpecialToken> ControlTokens(const Tokenizer& tokenizer);

/// The first of `needed` that is none of `control_tokens`; null if there is none.
const std::string* MissingToken(std::span<const std::string> needed,
                                std::span<const SpecialToken> control_tokens);

/// Makes the sections of a template part by part: control tokens that its text spells become ids.
/// What a request's texts spell is plain text.
class SectionsBuilder {
 public:
  /// Both must outlive the builder.
  SectionsBuilder(const Tokenizer& tokenizer, const std::vector<SpecialToken>& control_tokens)
      : tokenizer_(tokenizer), control_tokens_(control_tokens) {}

  /// Begins a text that is tokenized by itself: one that begins a sequence, or a later section.
  void BeginPiece(bool at_start = true);
  void Add(const TemplatePart& part);

  /// Begins with BOS, if the tokenizer adds one.
  std::vector<TemplateSection> FinishPrompt();
  std::vector<TemplateSection> Finish();

  /// The text behind the last control token, and how it is encoded, after the builder has finished.
  const TemplateRun& last_run() const { return last_run_; }
  /// A control token that takes white space beside it along; empty if none does.
  const std::string& greedy_token() const { return greedy_token_; }
  /// A control token between {if} and {end}; empty if there is none.
  const std::string& conditional_token() const { return conditional_token_; }

 private:
  void AddText(std::string_view text, const std::string& condition);
  void AddControl(const SpecialToken& token);
  void AddIds(const std::vector<TokenId>& ids);
  void EndRun();

  const Tokenizer& tokenizer_;
  const std::vector<SpecialToken>& control_tokens_;
  std::vector<TemplateSection> sections_;
  TemplateRun run_;
  TemplateRun last_run_;
  bool begins_with_token_ = false;
  TokenId first_token_ = 0;
  std::string greedy_token_;
  std::string conditional_token_;
};

}  // namespace scorecast::coordinator

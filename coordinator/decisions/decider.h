#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/decisions/decision_labels.h"
#include "coordinator/decisions/decision_template.h"
#include "coordinator/templates/template_sections.h"
#include "coordinator/text/tokenizer.h"
#include "proto/base/expected.h"
#include "proto/model/model_config.h"

namespace scorecast::coordinator {

/// An option of a choice, a level of a score, or an outcome of a noul (true, then false).
struct DecisionOption {
  std::string_view name;         ///< Only of an option.
  std::string_view description;  ///< Empty if it has none.
};

/// A question as the model sees it. Texts are valid UTF-8.
struct DecisionQuestion {
  DecisionType type = DecisionType::kNoul;
  std::string_view instructions;
  std::span<const DecisionOption> options;
  bool is_reversed = false;  ///< The options stand in the reverse order. Not of a score.
};

/// How a model decides: the prompt of a state and a question, and the labels whose logits are read
/// behind its last token. Never changes.
class Decider {
 public:
  /// `tokenizer` must outlive the result. `why_not` gets one line if the template needs something
  /// that the tokenizer or the model does not have; the result is then null.
  static std::shared_ptr<const Decider> Make(const DecisionTemplate& from,
                                             const Tokenizer& tokenizer,
                                             const proto::ModelConfig& config, std::string reason,
                                             std::string& why_not);

  /// The template: "sglang-v1-qwen3", or its file.
  const std::string& name() const { return from_.name; }
  /// Why this template was taken. One line.
  const std::string& reason() const { return reason_; }
  const DecisionLabels& labels() const { return labels_; }
  const DecisionTemperatures& temperatures() const { return from_.temperatures; }

  static constexpr std::size_t kMostRenderedBytes = std::size_t{64} << 20;

  /// An object or list of a request as the model sees it. `json` is compact. Nothing if that has
  /// more than kMostRenderedBytes: an indented text is much longer than a compact one.
  std::optional<std::string> Rendered(std::string_view json) const;

  /// The tokens that all questions of a state follow. They depend on the state alone.
  proto::Expected<std::vector<TokenId>, EncodeFault> Prefix(std::string_view state,
                                                            const EncodeLimits& limits) const;
  /// The tokens of a question and of the prompt's end. They depend on the question alone.
  proto::Expected<std::vector<TokenId>, EncodeFault> Question(const DecisionQuestion& question,
                                                              const EncodeLimits& limits) const;

  /// Whether the question has another prompt if its options are reversed. A noul has not if at most
  /// one of its outcomes has a line.
  bool DependsOnOrder(DecisionQuestion question) const;

  /// The text of a prompt whose question is a noul.
  std::string Example() const;
  /// The text of a prompt, with control tokens as the template spells them.
  std::string PromptText(std::string_view state, const DecisionQuestion& question) const;

 private:
  Decider(DecisionTemplate from, const Tokenizer& tokenizer, std::string reason)
      : from_(std::move(from)), tokenizer_(tokenizer), reason_(std::move(reason)) {}

  std::string OptionsText(const DecisionQuestion& question) const;
  const std::vector<TemplateSection>& SectionsOf(DecisionType type) const {
    return questions_[static_cast<std::size_t>(type)];
  }

  const DecisionTemplate from_;
  const Tokenizer& tokenizer_;
  const std::string reason_;
  DecisionLabels labels_;
  std::vector<TemplateSection> state_;
  std::array<std::vector<TemplateSection>, 3> questions_;  ///< By type.
};

/// What LoadDecider found. Either `decider` is set, or `no_decider_reason` says in one line why the
/// server does not decide.
struct LoadedDecider {
  std::shared_ptr<const Decider> decider;
  std::string no_decider_reason;
};

/// Chooses the template for the model in `model_dir`: `template_flag` (the value of
/// --decision-template: a name or a file) or, if that is empty, what the directory's files say.
/// `tokenizer` may be null, and must outlive the result. Throws StartupError, one line, if a file
/// is malformed, or if the template of the flag does not suit the model.
LoadedDecider LoadDecider(const std::filesystem::path& model_dir, std::string_view template_flag,
                          const proto::ModelConfig& config, const Tokenizer* tokenizer);

}  // namespace scorecast::coordinator

// Which template a model gets.

#include <algorithm>
#include <optional>
#include <utility>

#include "coordinator/decisions/decider.h"
#include "coordinator/templates/model_evidence.h"
#include "coordinator/templates/template_file.h"
#include "coordinator/text/files/model_file.h"
#include "proto/base/error.h"
#include "proto/base/one_line.h"

namespace scorecast::coordinator {
namespace {

using proto::Quoted;
using proto::StartupError;

constexpr std::string_view kHowTo = "give --decision-template";
/// The value of the flag for the family's own template.
constexpr std::string_view kFamily = "sglang-v1";

LoadedDecider Off(std::string reason) { return {.no_decider_reason = std::move(reason)}; }

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Whether a chat template is the one that a template of ours follows.
bool IsThatOf(const std::string& chat_template, const DecisionTemplate& one) {
  return !one.chat_template.empty() &&
         std::ranges::all_of(one.chat_template,
                             [&](const std::string& text) { return Has(chat_template, text); }) &&
         std::ranges::none_of(one.chat_template_without,
                              [&](const std::string& text) { return Has(chat_template, text); });
}

/// Chooses a built-in template by what a model's directory says.
class BuiltInChoice {
 public:
  BuiltInChoice(const std::filesystem::path& model_dir, const proto::ModelConfig& config,
                const Tokenizer& tokenizer)
      : evidence_(ReadModelEvidence(model_dir)), config_(config), tokenizer_(tokenizer) {}

  std::shared_ptr<const Decider> ByName() const {
    for (const auto& [name, what] : evidence_.Names()) {
      for (const DecisionTemplate& one : BuiltInDecisionTemplates()) {
        if (HasNamePart(one.model_names, name)) {
          if (auto decider = Try(one, "the " + what + ", " + Quoted(name))) {
            return decider;
          }
        }
      }
    }
    return nullptr;
  }

  std::shared_ptr<const Decider> ByChatTemplate() const {
    for (const DecisionTemplate& one : BuiltInDecisionTemplates()) {
      const bool is_told =
          std::ranges::find(one.model_types, config_.model_type) != one.model_types.end() &&
          std::ranges::any_of(evidence_.chat_templates, [&](const std::string& chat_template) {
            return IsThatOf(chat_template, one);
          });
      if (is_told) {
        if (auto decider = Try(one, "the chat template of the directory")) {
          return decider;
        }
      }
    }
    return nullptr;
  }

  LoadedDecider Plain() const {
    if (!evidence_.chat_templates.empty()) {
      return Off("the model's chat template is none that a built-in decision template follows: " +
                 std::string(kHowTo));
    }
    for (const DecisionTemplate& one : BuiltInDecisionTemplates()) {
      if (one.is_default) {
        if (auto decider = Try(one, "the directory has no chat template")) {
          return {.decider = std::move(decider)};
        }
        return Off("decision template " + one.name + ": " + why_not_);
      }
    }
    return Off("the directory has no chat template: " + std::string(kHowTo));
  }

 private:
  std::shared_ptr<const Decider> Try(const DecisionTemplate& one, std::string reason) const {
    return Decider::Make(one, tokenizer_, config_, std::move(reason), why_not_);
  }

  const ModelEvidence evidence_;
  const proto::ModelConfig& config_;
  const Tokenizer& tokenizer_;
  mutable std::string why_not_;
};

/// The template of a flag that is not kFamily.
DecisionTemplate TemplateOf(std::string_view flag_value) {
  for (const DecisionTemplate& one : BuiltInDecisionTemplates()) {
    if (one.name == flag_value) {
      return one;
    }
  }
  const std::filesystem::path file = flag_value;
  if (!IsPath(flag_value) && !ModelFileExists(file)) {
    throw StartupError("--decision-template " + Quoted(flag_value) +
                       " is neither a file nor one of: " + BuiltInDecisionNames());
  }
  return ReadDecisionTemplate(file);
}

}  // namespace

LoadedDecider LoadDecider(const std::filesystem::path& model_dir, std::string_view template_flag,
                          const proto::ModelConfig& config, const Tokenizer* tokenizer) {
  const std::string flag = "--decision-template " + Quoted(template_flag);
  const bool is_given = !template_flag.empty();
  std::optional<DecisionTemplate> own;
  if (is_given && template_flag != kFamily) {
    own = TemplateOf(template_flag);
  }
  std::string why_not = tokenizer == nullptr     ? "the model directory has no tokenizer"
                        : config.is_classifier() ? "the model is a classifier"
                        : config.is_embedder()   ? "the model computes embeddings"
                                                 : "";
  if (!why_not.empty()) {
    if (is_given) {
      throw StartupError(flag + ": " + why_not);
    }
    return Off(why_not);
  }
  std::string reason = "--decision-template";
  const std::filesystem::path file = model_dir / kDecisionTemplateFile;
  if (!is_given && ModelFileExists(file)) {
    own = ReadDecisionTemplate(file);
    reason = "the directory has it";
  }
  if (own) {
    auto decider = Decider::Make(*own, *tokenizer, config, reason, why_not);
    if (decider == nullptr && is_given) {
      throw StartupError(flag + ": " + why_not);
    }
    return decider != nullptr ? LoadedDecider{.decider = std::move(decider)}
                              : Off("decision template " + own->name + ": " + why_not);
  }
  const BuiltInChoice choice(model_dir, config, *tokenizer);
  if (!is_given) {
    if (auto decider = choice.ByName()) {
      return {.decider = std::move(decider)};
    }
  }
  if (auto decider = choice.ByChatTemplate()) {
    return {.decider = std::move(decider)};
  }
  if (is_given) {
    throw StartupError(flag + ": the model's chat template is that of no family that is known");
  }
  return choice.Plain();
}

}  // namespace scorecast::coordinator

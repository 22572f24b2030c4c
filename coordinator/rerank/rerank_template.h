#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "coordinator/rerank/score_formula.h"
#include "coordinator/templates/template_text.h"
#include "proto/model/token_id.h"

namespace scorecast::coordinator {

/// A template as its file gives it: docs/rerank.md.
struct RerankTemplate {
  /// A token's id, or texts of which the first counts that is exactly one token.
  using Label = std::variant<proto::TokenId, std::vector<std::string>>;

  std::string name;
  std::string default_instruction;
  std::vector<std::string> control_tokens;  ///< The vocabulary must have them as tokens.
  /// The models that it is for: config.json's model_type, and parts of their names in lower
  /// case. Only built-in templates need them, and the next one.
  std::vector<std::string> model_types;
  std::vector<std::string> model_names;
  /// Whether a model of these families that may be a reranker or not gets it.
  bool is_default = false;
  /// Each piece is tokenized by itself. One piece if the prompt is tokenized as a whole. Its places
  /// are "query", "document" and "instruction", which is the only condition.
  std::vector<TemplateText> pieces;
  Label true_label;
  std::optional<Label> false_label;  ///< Set if the formula has it.
  ScoreFormula formula;
};

/// Reads the text of a template's file. Throws StartupError, one line that names `origin`, the line
/// and what is wrong with it. `name` becomes the template's name.
RerankTemplate ParseRerankTemplate(std::string_view text, std::string name,
                                   const std::string& origin);

/// The templates that are built in, by name.
const std::vector<RerankTemplate>& BuiltInTemplates();

/// The name of the built-in template for models that are no known rerankers.
inline constexpr std::string_view kPlainTemplate = "yes-no";

/// The value of --rerank-template: the name of a built-in template, or a file (a value with a slash
/// or a dot). Throws StartupError.
RerankTemplate TemplateOfFlag(std::string_view value);

/// The built-in template with this name, or null.
const RerankTemplate* FindBuiltInTemplate(std::string_view name);

/// The control tokens of all built-in templates and of that of the flag, which may be empty, for
/// LoadTokenizer: they are escaped in texts of requests. Each ends with a zero byte. Throws
/// StartupError.
std::string ControlTokensOfTemplates(std::string_view flag_value);

}  // namespace scorecast::coordinator

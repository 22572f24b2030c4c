#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "coordinator/rerank/score_formula.h"
#include "proto/model/model_config.h"

namespace scorecast::coordinator {

/// A template as its file gives it: docs/rerank.md.
struct RerankTemplate {
  enum class PartKind { kText, kInstruction, kQuery, kDocument };

  struct Part {
    PartKind kind = PartKind::kText;
    std::string text;                    ///< Of kText.
    bool only_with_instruction = false;  ///< Between {if instruction} and {end}.
  };
  using Piece = std::vector<Part>;

  /// A token's id, or texts of which the first counts that is exactly one token.
  using Label = std::variant<proto::TokenId, std::vector<std::string>>;

  std::string name;
  std::string default_instruction;
  /// Each piece is tokenized by itself. One piece if the prompt is tokenized as a whole.
  std::vector<Piece> pieces;
  Label true_label;
  std::optional<Label> false_label;  ///< Set if the formula has it.
  ScoreFormula formula;
};

/// Reads the text of a template's file. Throws StartupError, one line that names `origin`, the line
/// and what is wrong with it. `name` becomes the template's name.
RerankTemplate ParseRerankTemplate(std::string_view text, std::string name,
                                   const std::string& origin);

/// The templates that are built in, in alphabetical order.
const std::vector<RerankTemplate>& BuiltInTemplates();

/// The value of --rerank-template: the name of a built-in template, or a file. Throws StartupError.
RerankTemplate TemplateOfFlag(std::string_view value);

/// The built-in template with this name. There must be one.
const RerankTemplate& BuiltInTemplate(std::string_view name);

}  // namespace scorecast::coordinator

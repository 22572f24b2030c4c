#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/templates/template_text.h"

namespace scorecast::coordinator {

enum class DecisionType { kNoul, kChoice, kScore };

/// "noul", "choice" or "score".
std::string_view NameOf(DecisionType type);

inline constexpr std::size_t kMaxOptions = 255;  ///< Of a choice.
inline constexpr std::size_t kMaxLevels = 10;    ///< Of a score.
/// A choice with more options has labels of two letters.
inline constexpr std::size_t kMaxLetters = 26;

/// The softmax over the labels is one of logits divided by a temperature. A choice has one for its
/// number of options: 2, 3 to 5, 6 to 26, 27 to 255.
struct DecisionTemperatures {
  double noul = 1;
  std::array<double, 4> choice = {1, 1, 1, 1};
  double score = 1;

  double Of(DecisionType type, std::size_t options) const;
};

/// A template as its file gives it: docs/decisions.md.
struct DecisionTemplate {
  std::string name;
  std::vector<std::string> control_tokens;  ///< The vocabulary must have them as tokens.
  // The models that it is for: config.json's model_type, parts of their names in lower case, and
  // texts that their chat template has or has not. Only built-in templates need them.
  std::vector<std::string> model_types;
  std::vector<std::string> model_names;
  std::vector<std::string> chat_template;
  std::vector<std::string> chat_template_without;
  bool is_default = false;  ///< For models without a chat template.

  TemplateText state;  ///< What all questions share; has the place "state".
  bool trim = false;   ///< Leaves out white space before the state.
  /// Places are "instructions" and "options".
  TemplateText noul;
  TemplateText choice;
  TemplateText score;
  TemplateText end;           ///< Behind every question.
  TemplateText option;        ///< A line of a choice: "label", "name" and "description".
  TemplateText level;         ///< A line of a score: "label", "index" (from 0) and "description".
  TemplateText outcome;       ///< A line of a noul: "label", "name" (yes or no) and "description".
  bool all_outcomes = false;  ///< Outcomes have lines even if they are not described.
  /// The spellings of yes and no, whose probabilities are summed. The first is shown in lines.
  std::array<std::vector<std::string>, 2> noul_labels;
  std::vector<std::string> choice_labels;
  std::vector<std::string> many_labels;                ///< With more than kMaxLetters options.
  std::vector<std::vector<std::string>> score_labels;  ///< The first counts that is usable.
  int json_indent = -1;                                ///< -1: compact.
  DecisionTemperatures temperatures;

  const TemplateText& TextOf(DecisionType type) const;
};

/// Reads the text of a template's file. Throws StartupError, one line that names `origin`, the line
/// and what is wrong with it. `name` becomes the template's name.
DecisionTemplate ParseDecisionTemplate(std::string_view text, std::string name,
                                       const std::string& origin);

/// The templates that are built in, in the order in which they are tried.
const std::vector<DecisionTemplate>& BuiltInDecisionTemplates();

/// The names by which --decision-template knows built-in templates: those of the templates, and
/// "sglang-v1" for that of the model's family.
std::string BuiltInDecisionNames();

/// The file in a model's directory that counts before every built-in template.
inline constexpr std::string_view kDecisionTemplateFile = "decision_template.txt";

/// Reads a file. Throws StartupError.
DecisionTemplate ReadDecisionTemplate(const std::filesystem::path& file);

/// The control tokens of all built-in templates, of the file in `model_dir` and of that of the
/// flag, which may be empty, for LoadTokenizer. Each ends with a zero byte. Throws StartupError.
std::string ControlTokensOfDecisions(const std::filesystem::path& model_dir,
                                     std::string_view flag_value);

}  // namespace scorecast::coordinator

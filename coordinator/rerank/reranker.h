#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/rerank/score_formula.h"
#include "coordinator/rerank/template_tokens.h"
#include "coordinator/text/tokenizer.h"
#include "proto/model/model_config.h"
#include "proto/plan/label_list.h"

namespace scorecast::coordinator {

/// How a model reranks: the prompt of query and document, the labels whose logits are read behind
/// its last token, and the formula that makes a score of them. Never changes.
class Reranker {
 public:
  struct Parts {
    std::string name;
    std::string reason;
    std::string default_instruction;
    TemplateTokens prompt;
    proto::LabelList labels;
    ScoreFormula formula;
    bool is_guess = false;
  };

  explicit Reranker(Parts parts) : parts_(std::move(parts)) {}

  /// The template: "qwen3-reranker", or the file that --rerank-template names.
  const std::string& name() const { return parts_.name; }
  /// Why this template was taken, e.g. "chat_template of tokenizer_config.json". One line.
  const std::string& reason() const { return parts_.reason; }
  /// Whether nothing says that the model is a reranker, so that its scores may mean little.
  bool is_guess() const { return parts_.is_guess; }
  /// Used if a request gives no instruction. Empty if the template has none.
  const std::string& default_instruction() const { return parts_.default_instruction; }
  /// Whether the prompt has a place for an instruction. Others ignore it.
  bool takes_instruction() const { return parts_.prompt.takes_instruction(); }
  /// Whether the document stands before the query in the prompt.
  bool is_document_first() const { return parts_.prompt.is_document_first(); }

  /// The logits to read behind the prompt's last token, at temperature 1. The class of a
  /// classifier's head.
  const proto::LabelList& labels() const { return parts_.labels; }
  /// The score of the labels' logits. Not finite if they are not.
  double Score(std::span<const float> logits) const { return parts_.formula.Score(logits); }
  /// The logits before the formula's sigmoid and divisor: a logit, or a difference of two.
  double RawScore(std::span<const float> logits) const { return parts_.formula.RawScore(logits); }
  /// Whether scores are between 0 and 1. If not, Score is RawScore.
  bool is_probability() const { return parts_.formula.is_probability(); }
  /// E.g. "sigmoid(true - false)", for people.
  std::string FormulaText() const { return parts_.formula.Text(); }

  const TemplateTokens& prompt() const { return parts_.prompt; }

 private:
  Parts parts_;
};

/// What LoadReranker found. Either `reranker` is set, or `no_reranker_reason` says in one line why
/// the server does not rerank.
struct LoadedReranker {
  std::shared_ptr<const Reranker> reranker;
  std::string no_reranker_reason;
};

/// Chooses the template for the model in `model_dir`: `template_flag` (the value of
/// --rerank-template: a name or a file) or, if that is empty, what the directory's files say.
/// `tokenizer` may be null, and must outlive the result. Throws StartupError, one line, if a file
/// is malformed, or if the template of the flag does not suit the model.
LoadedReranker LoadReranker(const std::filesystem::path& model_dir, std::string_view template_flag,
                            const proto::ModelConfig& config, const Tokenizer* tokenizer);

}  // namespace scorecast::coordinator

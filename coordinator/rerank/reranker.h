#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
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

class TextMessages;
struct LoadedChatPrompts;

/// How a model reranks: the prompt of query and document, or that they are a pair of texts; the
/// labels whose logits are read, behind the prompt's last token unless the model reads whole texts;
/// and the formula that makes a score of them. An embedding model has none of these: the vectors of
/// query and document are compared. Never changes.
class Reranker {
 public:
  struct Parts {
    std::string name;
    std::string reason;
    std::string default_instruction;
    std::optional<TemplateTokens> prompt;  ///< nullopt: a pair, or two vectors.
    /// Of a pair whose texts are messages. Null if the tokenizer makes the pair.
    std::shared_ptr<const TextMessages> messages;
    std::int64_t max_pair_tokens = std::numeric_limits<std::int64_t>::max();
    proto::LabelList labels;  ///< Empty: vectors are compared.
    ScoreFormula formula;     ///< Of the labels' logits.
    bool is_guess = false;
  };

  explicit Reranker(Parts parts) : parts_(std::move(parts)) {}

  /// The template: "qwen3-reranker", the file that --rerank-template names, the file of the chat
  /// template that renders messages, or kPairTemplate; if vectors are compared, the similarity:
  /// "cosine", "dot".
  const std::string& name() const { return parts_.name; }
  /// Why this template was taken, e.g. "chat_template of tokenizer_config.json". One line.
  const std::string& reason() const { return parts_.reason; }
  /// Whether nothing says that the model is a reranker, so that its scores may mean little.
  bool is_guess() const { return parts_.is_guess; }
  /// Used if a request gives no instruction. Empty if the template has none.
  const std::string& default_instruction() const { return parts_.default_instruction; }
  /// Whether the prompt has a place for an instruction. Others ignore it. Of a pair: whether the
  /// model's directory has an instruction, which is put before the query. Messages take one as the
  /// system message.
  bool takes_instruction() const {
    return parts_.prompt ? prompt().takes_instruction()
                         : messages() != nullptr || !default_instruction().empty();
  }
  /// Whether query and document are the two texts of a pair. There is no prompt then.
  bool is_pair() const { return !parts_.prompt && !compares_vectors(); }
  /// Whether query and document are texts of their own, whose vectors are compared.
  bool compares_vectors() const { return parts_.labels.empty(); }
  /// How the texts of a pair become messages. Null if the tokenizer makes the pair, and puts its
  /// own tokens around it.
  const TextMessages* messages() const { return parts_.messages.get(); }
  /// Most tokens of a pair, those of tokenizer or chat template included.
  std::int64_t max_pair_tokens() const { return parts_.max_pair_tokens; }
  /// Whether the document stands before the query in the prompt.
  bool is_document_first() const { return parts_.prompt && prompt().is_document_first(); }

  /// The logits to read behind the prompt's last token, at temperature 1. The class of a
  /// classifier's head. Empty if vectors are compared, and the scores below do not count then.
  const proto::LabelList& labels() const { return parts_.labels; }
  /// The score of the labels' logits. Not finite if they are not.
  double Score(std::span<const float> logits) const { return parts_.formula.Score(logits); }
  /// The logits before the formula's sigmoid and divisor: a logit, or a difference of two.
  double RawScore(std::span<const float> logits) const { return parts_.formula.RawScore(logits); }
  /// Whether scores are between 0 and 1. If not, Score is RawScore.
  bool is_probability() const { return parts_.formula.is_probability(); }
  /// A logit put into a sigmoid, whatever the formula is.
  double Sigmoid(std::span<const float> logits) const {
    return parts_.formula.WithActivation(/*sigmoid=*/true).Score(logits);
  }
  /// E.g. "sigmoid(true - false)" or "cosine(query, document)", for people.
  std::string FormulaText() const {
    return compares_vectors() ? name() + "(query, document)" : parts_.formula.Text();
  }

  const TemplateTokens& prompt() const { return *parts_.prompt; }

 private:
  Parts parts_;
};

/// The name that stands for a template if query and document are a pair.
inline constexpr std::string_view kPairTemplate = "pair";

/// What LoadReranker found. Either `reranker` is set, or `no_reranker_reason` says in one line why
/// the server does not rerank.
struct LoadedReranker {
  std::shared_ptr<const Reranker> reranker;
  std::string no_reranker_reason;
};

/// Chooses the template for the model in `model_dir`: `template_flag` (the value of
/// --rerank-template: a name or a file) or, if that is empty, what the directory's files say. A
/// classifier gets pairs, of the tokenizer or as messages, unless a template is for its family, or
/// the files tell one, and no modules make the scores; so does a cross-encoder of
/// sentence-transformers, whose chat template is `chat`. An embedding model compares vectors by the
/// similarity of this name. `tokenizer` may be null, and must outlive the result. Throws
/// StartupError, one line, if a file is malformed, or if the template of the flag does not suit the
/// model.
LoadedReranker LoadReranker(const std::filesystem::path& model_dir, std::string_view template_flag,
                            const proto::ModelConfig& config, const Tokenizer* tokenizer,
                            const LoadedChatPrompts& chat, std::string_view similarity = "cosine");

}  // namespace scorecast::coordinator

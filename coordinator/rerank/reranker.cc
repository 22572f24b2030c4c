#include "coordinator/rerank/reranker.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "coordinator/chat/text_messages.h"
#include "coordinator/rerank/chat_template_match.h"
#include "coordinator/rerank/rerank_template.h"
#include "coordinator/rerank/sentence_transformers.h"
#include "coordinator/templates/model_evidence.h"
#include "coordinator/text/files/transformer_module.h"
#include "proto/base/count.h"
#include "proto/base/error.h"
#include "proto/base/expected.h"
#include "proto/base/one_line.h"

namespace scorecast::coordinator {
namespace {

using proto::Quoted;
using proto::StartupError;

constexpr std::string_view kHowTo = "give --rerank-template";

/// A template and why it was chosen; without a template, why there is none.
struct Choice {
  const RerankTemplate* chosen = nullptr;
  std::string reason;
  bool is_guess = false;
  bool is_pair = false;  ///< There is no template because query and document are a pair.
};

/// The ids of a label: nothing if its texts are no single tokens, or its id is not in the
/// vocabulary.
std::optional<TokenId> IdOf(const RerankTemplate::Label& label, const Tokenizer& tokenizer,
                            const proto::ModelConfig& config) {
  if (const auto* id = std::get_if<TokenId>(&label)) {
    return *id < config.vocab_size ? std::optional(*id) : std::nullopt;
  }
  for (const std::string& text : std::get<std::vector<std::string>>(label)) {
    const std::optional<TokenId> id = tokenizer.SingleToken(text);
    if (id && *id < config.vocab_size) {
      return id;
    }
  }
  return std::nullopt;
}

std::string TextOf(const RerankTemplate::Label& label) {
  const auto* texts = std::get_if<std::vector<std::string>>(&label);
  return texts == nullptr ? "id " + std::to_string(std::get<TokenId>(label))
                          : Quoted(texts->front());
}

/// The ids of the template's labels, or what is wrong with them.
std::optional<std::vector<TokenId>> LabelsOf(const RerankTemplate& from, const Tokenizer& tokenizer,
                                             const proto::ModelConfig& config,
                                             std::string& why_not) {
  std::vector<TokenId> ids;
  for (const RerankTemplate::Label* label :
       {&from.true_label, from.false_label ? &*from.false_label : nullptr}) {
    if (label == nullptr) {
      continue;
    }
    const std::optional<TokenId> id = IdOf(*label, tokenizer, config);
    if (!id) {
      why_not = "the label " + TextOf(*label) + " is not a token of the vocabulary";
      return std::nullopt;
    }
    if (!ids.empty() && ids.front() == *id) {
      why_not = "the labels are the same token, " + std::to_string(*id);
      return std::nullopt;
    }
    ids.push_back(*id);
  }
  return ids;
}

/// What a model directory says about its template.
struct Evidence : ModelEvidence {
  CrossEncoderFiles files;
};

bool IsForModel(const RerankTemplate& one, const proto::ModelConfig& config) {
  return std::find(one.model_types.begin(), one.model_types.end(), config.model_type) !=
         one.model_types.end();
}

/// The built-in templates that the model's family and vocabulary allow.
std::vector<const RerankTemplate*> Candidates(const Tokenizer& tokenizer,
                                              const proto::ModelConfig& config) {
  std::vector<const RerankTemplate*> candidates;
  std::string ignored;
  for (const RerankTemplate& one : BuiltInTemplates()) {
    if (IsForModel(one, config) && TemplateTokens::Make(one, tokenizer, ignored) &&
        (config.is_classifier() || LabelsOf(one, tokenizer, config, ignored))) {
      candidates.push_back(&one);
    }
  }
  return candidates;
}

std::vector<TokenId> IdsOf(const CrossEncoderFiles::LogitScore& score) {
  std::vector<TokenId> ids = {score.true_token};
  if (score.false_token) {
    ids.push_back(*score.false_token);
  }
  return ids;
}

bool HasLabels(const RerankTemplate& one, const CrossEncoderFiles::LogitScore& score,
               const Tokenizer& tokenizer, const proto::ModelConfig& config) {
  std::string ignored;
  return LabelsOf(one, tokenizer, config, ignored) == IdsOf(score);
}

/// The template of `left` that the model's names tell, the directory's first.
Choice ChooseByName(const Evidence& evidence, const std::vector<const RerankTemplate*>& left) {
  for (const auto& [name, what] : evidence.Names()) {
    const auto named = std::find_if(left.begin(), left.end(), [&](const RerankTemplate* one) {
      return HasNamePart(one->model_names, name);
    });
    if (named != left.end()) {
      return {*named, "the " + what + ", " + Quoted(name) + ", and the vocabulary"};
    }
  }
  return {};
}

/// Chooses a built-in template: by a chat template, by the labels of a LogitScore, by the model's
/// name, in this order. If none of them tells it, the family's default.
Choice Choose(const Evidence& evidence, const Tokenizer& tokenizer,
              const proto::ModelConfig& config) {
  const std::vector<const RerankTemplate*> candidates = Candidates(tokenizer, config);
  if (config.read_head) {
    return candidates.empty() || config.read_head->ends_with_module()
               ? Choice{.is_pair = true}
               : Choice{candidates.front(), "it is that of " + config.model_type + " rerankers"};
  }
  const auto& logit_score = evidence.files.logit_score;
  bool has_unknown = false;
  for (const std::string& chat_template : evidence.chat_templates) {
    for (const RerankTemplate* one : candidates) {
      if (HasTextOf(chat_template, *one)) {
        return {one, "a chat template of the directory has its text"};
      }
    }
    has_unknown = has_unknown || IsRerankChatTemplate(chat_template) ||
                  (logit_score && chat_template == evidence.chat_template_jinja);
  }
  if (has_unknown) {
    return {nullptr,
            "the model's own rerank prompt (a chat template beside it) is none that is "
            "built in: " +
                std::string(kHowTo)};
  }

  std::vector<const RerankTemplate*> left = candidates;
  if (logit_score) {
    std::erase_if(left, [&](const RerankTemplate* one) {
      return !HasLabels(*one, *logit_score, tokenizer, config);
    });
    if (left.size() == 1) {
      return {left.front(), logit_score->file + " has its labels"};
    }
  }
  if (Choice named = ChooseByName(evidence, left); named.chosen != nullptr) {
    return named;
  }
  if (logit_score) {
    return {nullptr, logit_score->file +
                         " has labels of no template that is built in: " + std::string(kHowTo)};
  }
  const std::string unknown = "nothing says that the model is a reranker that is known";
  const auto suitable = std::find_if(left.begin(), left.end(),
                                     [](const RerankTemplate* one) { return one->is_default; });
  if (suitable != left.end() && !evidence.files.has_other_modules) {
    return {*suitable,
            unknown + ", but " + config.model_type + " models with its vocabulary may be",
            /*is_guess=*/true};
  }
  return {FindBuiltInTemplate(kPlainTemplate), unknown, /*is_guess=*/true};
}

bool EndsWithName(std::string_view activation, std::string_view name) {
  return activation == name ||
         (activation.ends_with(name) && activation[activation.size() - name.size() - 1] == '.');
}

LoadedReranker Off(std::string reason) { return {.no_reranker_reason = std::move(reason)}; }

/// Applies the activation of sentence-transformers' files. Returns false if it is not supported. In
/// a classifier's files, sentence-transformers ignores functions that are not PyTorch's.
bool ApplyActivation(const CrossEncoderFiles& files, const proto::ModelConfig& config,
                     ScoreFormula& formula, std::string& reason) {
  if (files.activation.empty() ||
      (config.is_classifier() && !std::string_view(files.activation).starts_with("torch."))) {
    return true;
  }
  const bool is_sigmoid = EndsWithName(files.activation, "Sigmoid");
  if (!is_sigmoid && !EndsWithName(files.activation, "Identity")) {
    return false;
  }
  formula = formula.WithActivation(is_sigmoid);
  reason +=
      std::string("; ") + (is_sigmoid ? "Sigmoid" : "Identity") + " says " + files.activation_file;
  return true;
}

LoadedReranker UnknownActivation(const CrossEncoderFiles& files) {
  return Off(files.activation_file + ": the activation " + Quoted(files.activation) +
             " is not supported: " + std::string(kHowTo));
}

/// Whether query and document are a pair of texts, as for sentence-transformers, unless a template
/// of the flag is given. For classifiers without its files, a template that is told by evidence
/// counts more.
bool IsPair(const Choice& choice, const CrossEncoderFiles& files, const TransformerModule& module,
            const proto::ModelConfig& config) {
  if (config.read_head) {
    return choice.is_pair;
  }
  if (!config.is_classifier()) {
    return files.logit_score && files.is_cross_encoder && module.task == "text-generation";
  }
  return files.is_cross_encoder || files.is_old_cross_encoder || choice.chosen == nullptr ||
         choice.is_guess;
}

LoadedReranker PairReranker(const std::filesystem::path& model_dir, const CrossEncoderFiles& files,
                            const TransformerModule& module, const proto::ModelConfig& config,
                            const LoadedChatPrompts& chat) {
  const proto::Expected<std::shared_ptr<const TextMessages>, std::string> messages =
      FindTextMessages(model_dir, module, chat);
  if (!messages) {
    return Off(messages.error() + ": " + std::string(kHowTo));
  }
  const bool are_messages = *messages != nullptr;
  if (are_messages && !(*messages)->pair_fault().empty()) {
    return Off((*messages)->pair_fault() + ": " + std::string(kHowTo));
  }
  Reranker::Parts parts{
      .name = are_messages ? (*messages)->name() : std::string(kPairTemplate),
      .reason = are_messages ? "query and document are messages, which this chat template renders"
                             : "query and document are the tokenizer's pair of texts",
      .default_instruction = files.instruction,
      .prompt = std::nullopt,
      .messages = *messages,
      .max_pair_tokens = ReadTokenLimit(model_dir, config.max_position_embeddings),
      .labels = proto::LabelList{0},
      .formula = ScoreFormula::OfHead()};
  if (files.logit_score) {
    parts.labels = proto::LabelList(IdsOf(*files.logit_score));
    parts.formula = parts.formula.WithFalse(files.logit_score->false_token.has_value());
    parts.reason += "; " + files.logit_score->file + " has the labels";
  } else {
    parts.reason += "; the score is the classification head's";
  }
  if (!ApplyActivation(files, config, parts.formula, parts.reason)) {
    return UnknownActivation(files);
  }
  return {.reranker = std::make_shared<const Reranker>(std::move(parts))};
}

}  // namespace

LoadedReranker LoadReranker(const std::filesystem::path& model_dir, std::string_view template_flag,
                            const proto::ModelConfig& config, const Tokenizer* tokenizer,
                            const LoadedChatPrompts& chat, std::string_view similarity) {
  std::optional<RerankTemplate> of_flag;
  if (!template_flag.empty()) {
    of_flag = TemplateOfFlag(template_flag);
  }
  const std::string flag = "--rerank-template " + Quoted(template_flag);
  if (tokenizer == nullptr) {
    if (of_flag) {
      throw StartupError(flag + ": the model directory has no tokenizer");
    }
    return Off("the model directory has no tokenizer");
  }
  if (config.is_embedder()) {
    const std::string reason = "the model computes embeddings";
    if (of_flag) {
      throw StartupError(flag + ": " + reason + " (--task generate: its lm-head)");
    }
    return {.reranker = std::make_shared<const Reranker>(
                Reranker::Parts{.name = std::string(similarity), .reason = reason})};
  }
  if (config.is_classifier() && config.num_labels != 1) {
    const std::string reason = "the classifier has " +
                               proto::Count(config.num_labels, "class", "classes") +
                               ", and reranking needs exactly one";
    if (of_flag) {
      throw StartupError(flag + ": " + reason);
    }
    return Off(reason);
  }

  const Evidence evidence = {ReadModelEvidence(model_dir),
                             ReadCrossEncoderFiles(model_dir, config)};
  const Choice choice =
      of_flag ? Choice{&*of_flag, "--rerank-template"} : Choose(evidence, *tokenizer, config);
  if (!of_flag) {
    const bool has_module = config.is_classifier() || evidence.files.is_cross_encoder;
    const TransformerModule module =
        has_module ? ReadTransformerModule(model_dir) : TransformerModule();
    if (IsPair(choice, evidence.files, module, config)) {
      LoadedReranker pair = PairReranker(model_dir, evidence.files, module, config, chat);
      // If a pair cannot be rendered, sentence-transformers gives no score that could differ.
      if (pair.reranker || choice.chosen == nullptr || choice.is_guess) {
        return pair;
      }
    }
  }
  if (choice.chosen == nullptr) {
    return Off(choice.reason);
  }
  const RerankTemplate& from = *choice.chosen;
  const auto unsuitable = [&](const std::string& why) {
    if (of_flag) {
      throw StartupError(flag + ": " + why);
    }
    return Off("template " + from.name + ": " + why + ": " + std::string(kHowTo));
  };

  std::string why_not;
  std::optional<TemplateTokens> prompt = TemplateTokens::Make(from, *tokenizer, why_not);
  if (!prompt) {
    return unsuitable(why_not);
  }
  Reranker::Parts parts{.name = from.name,
                        .reason = choice.reason,
                        .default_instruction = from.default_instruction,
                        .prompt = *std::move(prompt),
                        .formula = from.formula,
                        .is_guess = choice.is_guess};
  const auto& logit_score = evidence.files.logit_score;
  if (config.is_classifier()) {
    parts.labels = proto::LabelList{0};
    parts.formula = ScoreFormula::OfHead();
    parts.reason += "; the score is the classification head's";
  } else if (logit_score && !of_flag) {
    parts.formula = parts.formula.WithFalse(logit_score->false_token.has_value());
    parts.labels = proto::LabelList(IdsOf(*logit_score));
  } else {
    std::optional<std::vector<TokenId>> ids = LabelsOf(from, *tokenizer, config, why_not);
    if (!ids) {
      return unsuitable(why_not);
    }
    parts.labels = proto::LabelList(*std::move(ids));
  }
  if (!of_flag) {
    if (!ApplyActivation(evidence.files, config, parts.formula, parts.reason)) {
      return UnknownActivation(evidence.files);
    }
    if (!evidence.files.instruction.empty()) {
      parts.default_instruction = evidence.files.instruction;
    }
  }
  return {.reranker = std::make_shared<const Reranker>(std::move(parts))};
}

}  // namespace scorecast::coordinator

#include "coordinator/endpoints/text_sequences.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <numeric>
#include <string_view>
#include <utility>

#include "coordinator/chat/text_messages.h"
#include "coordinator/endpoints/truncation.h"
#include "coordinator/prompts/text_pairs.h"
#include "coordinator/request/request_checks.h"
#include "coordinator/request/request_error.h"
#include "coordinator/schedule/pages/capacity.h"
#include "coordinator/text/unicode/utf8.h"
#include "proto/base/count.h"
#include "proto/log/log.h"

namespace scorecast::coordinator {
namespace {

using proto::Error;
using proto::Expected;
using proto::PackedSequence;
using proto::Unexpected;

void LogIgnoredPrompt(std::string_view name) {
  static std::atomic<bool> is_logged = false;
  if (!is_logged.exchange(true)) {
    proto::LogInfo(
        "a request asks for the prompt {}, which the model does not have; such texts get no prompt "
        "(logged once)",
        Quoted(name));
  }
}

/// The prompt that is put before texts. Empty if there is none.
Expected<std::string_view> PromptOf(const TextInputs& inputs, const EmbeddingPrompts& prompts) {
  if (inputs.prompt && inputs.prompt_name) {
    return Unexpected(BadRequest("prompt_given_twice",
                                 "prompt and " + inputs.prompt_field + " exclude each other.",
                                 "prompt"));
  }
  if (inputs.prompt) {
    return IsValidUtf8(*inputs.prompt) ? Expected<std::string_view>(*inputs.prompt)
                                       : Unexpected(InvalidUtf8("prompt"));
  }
  const bool is_own_field = inputs.prompt_field == "prompt_name";
  const EmbeddingPrompts::Prompt* const prompt = !inputs.prompt_name ? prompts.Default()
                                                 : is_own_field
                                                     ? prompts.FindOwn(*inputs.prompt_name)
                                                     : prompts.Find(*inputs.prompt_name);
  if (prompt != nullptr) {
    return std::string_view(prompt->text);
  }
  if (!inputs.prompt_name) {
    return std::string_view();
  }
  if (IsUsualPromptName(*inputs.prompt_name, !prompts.empty())) {
    LogIgnoredPrompt(*inputs.prompt_name);
    return std::string_view();
  }
  std::string names;
  for (const EmbeddingPrompts::Prompt& one : prompts.all()) {
    names += (names.empty() ? "" : ", ") + one.name;
  }
  return Unexpected(BadRequest("unknown_prompt",
                               "The model has no prompt " + Quoted(*inputs.prompt_name) + ". " +
                                   (names.empty() ? "It has none." : "It has: " + names + "."),
                               inputs.prompt_field));
}

/// What the texts are for, by the request's own word: see TaskOfPrompt. The name of a prompt alone
/// does not say it.
std::string_view TaskOfTexts(const TextInputs& inputs) {
  return inputs.prompt_name && inputs.prompt_field != "prompt_name"
             ? TaskOfPrompt(*inputs.prompt_name)
             : std::string_view();
}

/// The most tokens of a text: what the request says or, if it says nothing, the model's limit of
/// texts for this use.
std::int64_t LimitOf(const TextInputs& inputs, const RequestContext& context) {
  const std::int64_t most = std::min(inputs.length.max_tokens, MostTextTokens(context));
  if (inputs.length.max_tokens != EncodeLimits::kUnlimited) {
    return most;
  }
  const TransformerModule& module = context.options.transformer;
  const std::string_view task = TaskOfTexts(inputs);
  const std::optional<std::int64_t> of_task = task == "query"      ? module.query_length
                                              : task == "document" ? module.document_length
                                                                   : std::nullopt;
  return std::min(of_task.value_or(most), context.config.max_position_embeddings);
}

/// The field that says which prompt is put before the texts.
std::string PromptFieldOf(const TextInputs& inputs) {
  return inputs.prompt ? "prompt" : inputs.prompt_name ? inputs.prompt_field : inputs.field;
}

std::int64_t CountTexts(const TextInputs& inputs) {
  return static_cast<std::int64_t>(std::ranges::count_if(
      inputs.texts, [](const TextInput& input) { return IsText(input.first); }));
}

/// A prompt is a part of each text: its tokens are copied, and its end is tokenized again with each
/// of them. Both are bounded, as if the texts of a body had it themselves.
constexpr std::int64_t kMostPromptBytes = std::int64_t{1} << 26;

Error PromptTooLong(const TextInputs& inputs, const std::string& length) {
  const std::string field = PromptFieldOf(inputs);
  return {413, "prompt_too_long",
          field + " is too long for so many texts: " + length + " before each of " +
              std::to_string(CountTexts(inputs)) + ".",
          field};
}

/// The 413 of a prompt that is too long to be rendered, and tokenized, with each of the texts.
std::optional<Error> SystemMessageFault(std::string_view prompt, const TextInputs& inputs) {
  const std::int64_t texts = std::max<std::int64_t>(CountTexts(inputs), 1);
  return static_cast<std::int64_t>(prompt.size()) > RepeatedTokens::kMost / texts
             ? std::optional(PromptTooLong(inputs, proto::Count(prompt.size(), "byte")))
             : std::nullopt;
}

/// The prompt, tokenized once. A 413 if it is too long for the number of texts.
Expected<TextPrompt> TokenizedPrompt(std::string_view text, const TextInputs& inputs,
                                     const RequestContext& context) {
  const std::string field = PromptFieldOf(inputs);
  Expected<TextPrompt, TypedFault> prompt = TextPrompt::Make(
      *context.tokenizer, text, context.options.special_tokens_in_text,
      {.interruption = context.interruption}, context.options.transformer.adds_tokens);
  if (!prompt) {
    return Unexpected(EncodeError(prompt.error().encode,
                                  BadRequest("prompt_too_long", field + " is too long.", field),
                                  field));
  }
  const std::int64_t texts = CountTexts(inputs);
  // A text that is cut at its end copies no token behind the cut.
  const std::int64_t tokens = inputs.length.cut == Truncation::Side::kRight
                                  ? std::min(prompt->tokens(), LimitOf(inputs, context))
                                  : prompt->tokens();
  if (texts > 0 && (tokens > RepeatedTokens::kMost / texts ||
                    static_cast<std::int64_t>(prompt->bytes_again()) > kMostPromptBytes / texts)) {
    return Unexpected(PromptTooLong(inputs, proto::Count(prompt->tokens(), "token")));
  }
  return *std::move(prompt);
}

bool IsEmpty(const TextInput& input) {
  const bool is_first_empty =
      IsText(input.first) ? Text(input.first).empty() : Ids(input.first).empty();
  return is_first_empty && !input.second;
}

class SequenceMaker {
 public:
  /// `prompt` is put before texts, and `tokenized` is the same unless texts are messages; it may be
  /// null.
  SequenceMaker(const TextInputs& inputs, std::string_view prompt, const TextPrompt* tokenized,
                const RequestContext& context)
      : inputs_(inputs),
        prompt_(tokenized),
        context_(context),
        limit_(LimitOf(inputs, context)),
        truncation_{
            .max_length = limit_,
            .strategy = inputs.length.cut ? UsualStrategy(context) : Truncation::Strategy::kNone,
            .side = inputs.length.cut.value_or(Truncation::Side::kRight)} {
    if (context.options.messages != nullptr) {
      messages_.emplace(*context.options.messages,
                        MessageOptions{.prompt = prompt,
                                       .task = TaskOfTexts(inputs),
                                       .truncation = truncation_,
                                       .special_tokens = context.options.special_tokens_in_text,
                                       .interruption = context.interruption});
    }
    if (!context.config.read_head) {
      std::vector<TokenId> classes(static_cast<std::size_t>(context.config.num_labels));
      std::iota(classes.begin(), classes.end(), TokenId{0});
      classes_ = proto::LabelList(std::move(classes));
    }
  }

  Expected<TextSequences> Make() const {
    TextSequences made;
    made.sequences.reserve(inputs_.texts.size());
    for (std::size_t i = 0; i < inputs_.texts.size(); ++i) {
      if (auto fault = StopFault(context_.interruption)) {
        return Unexpected(*std::move(fault));
      }
      const std::string field = inputs_.texts.size() == 1 ? inputs_.field : At(inputs_.field, i);
      Expected<TypedTokens> tokens = TokensOf(inputs_.texts[i], field);
      if (!tokens) {
        return Unexpected(std::move(tokens).error());
      }
      made.prompt_tokens += static_cast<std::int64_t>(tokens->ids.size());
      made.sequences.push_back(SequenceOf(*std::move(tokens)));
      if (auto fault = CapacityFault(made.sequences.back(), context_.limits)) {
        fault->param = field;
        return Unexpected(*std::move(fault));
      }
    }
    return made;
  }

 private:
  Expected<TypedTokens> TokensOf(const TextInput& input, const std::string& field) const {
    if (IsEmpty(input)) {
      return Unexpected(BadRequest("empty_input", field + " must not be empty.", field));
    }
    Expected<TypedTokens> tokens =
        IsText(input.first) ? Encoded(input, field) : Taken(Ids(input.first), field);
    if (!tokens) {
      return tokens;
    }
    if (tokens->ids.empty()) {  // The tokenizer drops all of the text, and adds nothing.
      return Unexpected(BadRequest("no_tokens", field + " has no tokens.", field));
    }
    // The tokenizer may have more tokens than the model.
    if (auto fault = VocabularyFault(tokens->ids, field, context_.config.vocab_size)) {
      return Unexpected(*std::move(fault));
    }
    return tokens;
  }

  Expected<TypedTokens> Encoded(const TextInput& input, const std::string& field) const {
    if (context_.tokenizer == nullptr) {
      return Unexpected(NoTokenizer(field));
    }
    const std::string_view first = Text(input.first);
    if (!IsValidUtf8(first) || (input.second && !IsValidUtf8(*input.second))) {
      return Unexpected(InvalidUtf8(field));
    }
    Expected<TypedTokens, TypedFault> tokens = TypedTokensOf(first, input.second);
    if (tokens) {
      return *std::move(tokens);
    }
    const TypedFault& fault = tokens.error();
    switch (fault.kind) {
      case TypedFault::Kind::kEncode:
        return Unexpected(EncodeError(fault.encode, TooLong(field, "more", limit_), field));
      case TypedFault::Kind::kTooLong:
        return Unexpected(TooLong(field, std::to_string(fault.length), limit_));
      case TypedFault::Kind::kNotRendered:
        return Unexpected(NotRendered(fault.why, field));
      case TypedFault::Kind::kNoRoom:
        break;
    }
    return Unexpected(BadRequest("context_length_exceeded",
                                 field + " cannot be cut to " + proto::Count(limit_, "token") +
                                     ": " + std::to_string(fault.length) + " or more are left.",
                                 field));
  }

  Expected<TypedTokens, TypedFault> TypedTokensOf(
      std::string_view first, const std::optional<std::string_view>& second) const {
    if (messages_) {
      return second ? messages_->Of(first, *second) : messages_->Of(first);
    }
    const TypedOptions options = {.prompt = prompt_,
                                  .truncation = truncation_,
                                  .special_tokens = context_.options.special_tokens_in_text,
                                  .limits = {.interruption = context_.interruption},
                                  .adds_tokens = context_.options.transformer.adds_tokens};
    return second ? EncodeTyped(*context_.tokenizer, first, *second, options)
                  : EncodeTyped(*context_.tokenizer, first, options);
  }

  Expected<TypedTokens> Taken(std::span<const TokenId> ids, const std::string& field) const {
    const std::int64_t limit = std::min(inputs_.length.max_tokens, MostTextTokens(context_));
    if (static_cast<std::int64_t>(ids.size()) > limit) {
      if (!inputs_.length.cut) {
        return Unexpected(TooLong(field, std::to_string(ids.size()), limit));
      }
      const auto most = static_cast<std::size_t>(limit);
      ids = inputs_.length.cut == Truncation::Side::kRight ? ids.first(most) : ids.last(most);
    }
    return TypedTokens{.ids = {ids.begin(), ids.end()}, .types = {}};
  }

  PackedSequence SequenceOf(TypedTokens tokens) const {
    const auto first_row = static_cast<std::int32_t>(tokens.first_row_after_prompt);
    PackedSequence sequence = WholeSequence(std::move(tokens), context_.config, context_.tokenizer);
    proto::RowRead& read = sequence.reads.front();
    if (inputs_.reads_all_rows) {
      const auto rows = static_cast<std::int32_t>(sequence.rows());
      sequence.reads.clear();
      for (std::int32_t row = 0; row < rows; ++row) {
        sequence.reads.push_back({.row = row, .first_row = row, .raw = true});
      }
    } else if (context_.config.read_head) {
      read.first_row = context_.options.embedder.pools_prompt ? 0 : first_row;
      read.keeps_length = inputs_.keeps_length;
    } else {
      read.first_row = -1;
      sequence.label_lists.push_back(classes_);
    }
    return sequence;
  }

  Error TooLong(const std::string& field, const std::string& length, std::int64_t limit) const {
    return {inputs_.length.too_long_code, "context_length_exceeded",
            "This model's maximum context length is " + proto::Count(limit, "token") + ", but " +
                field + " has " + length + "." + CutHint(inputs_.length.cut_field),
            field};
  }

  const TextInputs& inputs_;
  const TextPrompt* const prompt_;
  const RequestContext& context_;
  const std::int64_t limit_;  ///< Most tokens of a text.
  const Truncation truncation_;
  std::optional<MessageTokens> messages_;  ///< Set if texts are messages.
  proto::LabelList classes_;               ///< Of a causal classifier.
};

}  // namespace

std::vector<TextInput> InputsOf(const std::vector<TextOrIds>& texts) {
  std::vector<TextInput> inputs;
  inputs.reserve(texts.size());
  for (const TextOrIds& text : texts) {
    inputs.push_back({text, std::nullopt});
  }
  return inputs;
}

std::int64_t RowsBound(const std::vector<TextInput>& texts, const proto::ModelConfig& config) {
  // More tokens than a prompt and the tokenizer usually add to a text.
  constexpr std::int64_t kAddedTokens = 128;
  std::int64_t rows = 0;
  for (const TextInput& text : texts) {
    const std::size_t tokens =
        IsText(text.first) ? Text(text.first).size() : Ids(text.first).size();
    rows +=
        std::min(static_cast<std::int64_t>(tokens) + kAddedTokens, config.max_position_embeddings);
  }
  return rows;
}

Expected<TextLength> CheckLength(bool truncate, const std::optional<std::string>& direction,
                                 const RequestContext& context,
                                 std::optional<std::int64_t> max_tokens) {
  const Expected<Truncation::Side> side = SideOf(direction, context);
  if (!side) {
    return Unexpected(side.error());
  }
  TextLength length;
  if (max_tokens) {
    if (auto fault = TruncatePromptTokensFault(*max_tokens)) {
      return Unexpected(*std::move(fault));
    }
    length.max_tokens = *max_tokens < 0 ? length.max_tokens : *max_tokens;
  }
  if (truncate || max_tokens) {
    length.cut = *side;
  }
  return length;
}

Expected<TextSequences> MakeTextSequences(const TextInputs& inputs, const RequestContext& context) {
  if (inputs.texts.empty()) {
    return Unexpected(
        BadRequest("empty_input", inputs.field + " must not be an empty list.", inputs.field));
  }
  const Expected<std::string_view> prompt = PromptOf(inputs, context.options.embedder.prompts);
  if (!prompt) {
    return Unexpected(prompt.error());
  }
  std::optional<TextPrompt> tokenized;
  if (context.options.messages != nullptr) {
    if (auto fault = SystemMessageFault(*prompt, inputs)) {
      return Unexpected(*std::move(fault));
    }
  } else if (!prompt->empty() && context.tokenizer != nullptr) {
    Expected<TextPrompt> made_prompt = TokenizedPrompt(*prompt, inputs, context);
    if (!made_prompt) {
      return Unexpected(std::move(made_prompt).error());
    }
    tokenized = *std::move(made_prompt);
  }
  Expected<TextSequences> made =
      SequenceMaker(inputs, *prompt, tokenized ? &*tokenized : nullptr, context).Make();
  if (made && inputs.reads_all_rows &&
      made->prompt_tokens > RowsBound(inputs.texts, context.config)) {
    return Unexpected(
        Error{413, "answer_too_large",
              "The prompt makes the response too large: it is long, and the texts are "
              "many and short.",
              inputs.field});
  }
  return made;
}

}  // namespace scorecast::coordinator

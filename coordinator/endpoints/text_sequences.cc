#include "coordinator/endpoints/text_sequences.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <numeric>
#include <string_view>
#include <utility>

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

/// A prompt is a part of each text: its tokens are copied, and its end is tokenized again with each
/// of them. Both are bounded, as if the texts of a body had it themselves.
constexpr std::int64_t kMostPromptBytes = std::int64_t{1} << 26;

/// The prompt, tokenized once. A 413 if it is too long for the number of texts.
Expected<TextPrompt> TokenizedPrompt(std::string_view text, const TextInputs& inputs,
                                     const RequestContext& context) {
  const std::string field = inputs.prompt        ? "prompt"
                            : inputs.prompt_name ? inputs.prompt_field
                                                 : inputs.field;
  Expected<TextPrompt, TypedFault> prompt =
      TextPrompt::Make(*context.tokenizer, text, context.options.special_tokens_in_text,
                       {.interruption = context.interruption});
  if (!prompt) {
    return Unexpected(EncodeError(prompt.error().encode,
                                  BadRequest("prompt_too_long", field + " is too long.", field),
                                  field));
  }
  const auto texts = static_cast<std::int64_t>(std::ranges::count_if(
      inputs.texts, [](const TextInput& input) { return IsText(input.first); }));
  // A text that is cut at its end copies no token behind the cut.
  const std::int64_t tokens =
      inputs.length.cut == Truncation::Side::kRight
          ? std::min({prompt->tokens(), inputs.length.max_tokens, MostTextTokens(context)})
          : prompt->tokens();
  if (texts > 0 && (tokens > RepeatedTokens::kMost / texts ||
                    static_cast<std::int64_t>(prompt->bytes_again()) > kMostPromptBytes / texts)) {
    return Unexpected(
        Error{413, "prompt_too_long",
              field + " is too long for so many texts: " + proto::Count(prompt->tokens(), "token") +
                  " before each of " + std::to_string(texts) + ".",
              field});
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
  /// `prompt` may be null.
  SequenceMaker(const TextInputs& inputs, const TextPrompt* prompt, const RequestContext& context)
      : inputs_(inputs),
        prompt_(prompt),
        context_(context),
        limit_(std::min(inputs.length.max_tokens, MostTextTokens(context))) {
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
    const TypedOptions options = {
        .prompt = prompt_,
        .truncation = {.max_length = limit_,
                       .strategy = inputs_.length.cut ? Truncation::Strategy::kLongestFirst
                                                      : Truncation::Strategy::kNone,
                       .side = inputs_.length.cut.value_or(Truncation::Side::kRight)},
        .special_tokens = context_.options.special_tokens_in_text,
        .limits = {.interruption = context_.interruption}};
    Expected<TypedTokens, TypedFault> tokens =
        input.second ? EncodeTyped(*context_.tokenizer, first, *input.second, options)
                     : EncodeTyped(*context_.tokenizer, first, options);
    if (tokens) {
      return *std::move(tokens);
    }
    const TypedFault& fault = tokens.error();
    switch (fault.kind) {
      case TypedFault::Kind::kEncode:
        return Unexpected(EncodeError(fault.encode, TooLong(field, "more"), field));
      case TypedFault::Kind::kTooLong:
        return Unexpected(TooLong(field, std::to_string(fault.length)));
      case TypedFault::Kind::kNoRoom:
        break;
    }
    return Unexpected(BadRequest("context_length_exceeded",
                                 field + " cannot be cut to " + proto::Count(limit_, "token") +
                                     ": " + std::to_string(fault.length) + " or more are left.",
                                 field));
  }

  Expected<TypedTokens> Taken(std::span<const TokenId> ids, const std::string& field) const {
    if (static_cast<std::int64_t>(ids.size()) > limit_) {
      if (!inputs_.length.cut) {
        return Unexpected(TooLong(field, std::to_string(ids.size())));
      }
      const auto most = static_cast<std::size_t>(limit_);
      ids = inputs_.length.cut == Truncation::Side::kRight ? ids.first(most) : ids.last(most);
    }
    return TypedTokens{.ids = {ids.begin(), ids.end()}, .types = {}};
  }

  PackedSequence SequenceOf(TypedTokens tokens) const {
    const auto first_row = static_cast<std::int32_t>(tokens.first_row_after_prompt);
    PackedSequence sequence = WholeSequence(std::move(tokens), context_.config);
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

  Error TooLong(const std::string& field, const std::string& length) const {
    return {inputs_.length.too_long_code, "context_length_exceeded",
            "This model's maximum context length is " + proto::Count(limit_, "token") + ", but " +
                field + " has " + length + "." + CutHint(inputs_.length.cut_field),
            field};
  }

  const TextInputs& inputs_;
  const TextPrompt* const prompt_;
  const RequestContext& context_;
  const std::int64_t limit_;
  proto::LabelList classes_;  ///< Of a causal classifier.
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

Expected<TextLength> CheckLength(bool truncate, const std::string& direction,
                                 std::optional<std::int64_t> max_tokens) {
  const Expected<Truncation::Side> side = SideOf(direction);
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
  if (!prompt->empty() && context.tokenizer != nullptr) {
    Expected<TextPrompt> made_prompt = TokenizedPrompt(*prompt, inputs, context);
    if (!made_prompt) {
      return Unexpected(std::move(made_prompt).error());
    }
    tokenized = *std::move(made_prompt);
  }
  Expected<TextSequences> made =
      SequenceMaker(inputs, tokenized ? &*tokenized : nullptr, context).Make();
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

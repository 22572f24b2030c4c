#include "coordinator/endpoints/prompt_tokens.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "coordinator/endpoints/chunk_separator.h"
#include "coordinator/endpoints/token_sum.h"
#include "coordinator/request/request_checks.h"
#include "coordinator/request/request_error.h"
#include "coordinator/text/continued_text.h"
#include "coordinator/text/unicode/utf8.h"
#include "proto/base/count.h"

namespace scorecast::coordinator {
namespace {

using proto::Error;
using proto::Expected;
using proto::Unexpected;

std::optional<Error> CountFault(const PromptParts& parts, std::int64_t max_items) {
  const auto num_chunks = static_cast<std::int64_t>(parts.chunks.size());
  const auto num_questions = static_cast<std::int64_t>(parts.questions.size());
  if (num_chunks > max_items) {
    return BadRequest("too_many_chunks", "Too many chunks: " + Exceeds(num_chunks, max_items) + ".",
                      parts.is_one_field ? parts.names.front() : "chunks");
  }
  if (num_questions > max_items) {
    return BadRequest("too_many_questions",
                      "Too many questions: " + Exceeds(num_questions, max_items) + ".",
                      "questions");
  }
  return std::nullopt;
}

std::optional<Error> GroupsFault(std::span<const std::int64_t> groups, std::size_t num_chunks) {
  std::int64_t left = static_cast<std::int64_t>(num_chunks);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (groups[i] <= 0) {
      return BadRequest(
          "bad_chunk_groups",
          "A group has at least one chunk: " + std::to_string(groups[i]) + " is not positive.",
          At("chunk_groups", i));
    }
    if (groups[i] > left) {
      return BadRequest("bad_chunk_groups",
                        "chunk_groups add up to more than the number of chunks, " +
                            std::to_string(num_chunks) + ".",
                        At("chunk_groups", i));
    }
    left -= groups[i];
  }
  if (left > 0) {
    return BadRequest("bad_chunk_groups",
                      "chunk_groups must add up to the number of chunks, " +
                          std::to_string(num_chunks) + ": " + std::to_string(left) +
                          (left == 1 ? " is" : " are") + " in no group.",
                      "chunk_groups");
  }
  return std::nullopt;
}

class PartsTokenizer {
 public:
  PartsTokenizer(const PromptParts& parts, const RequestContext& context)
      : parts_(parts),
        groups_(parts.chunk_groups.value_or(std::span<const std::int64_t>())),
        context_(context) {}

  Expected<PromptTokens> Tokenize() {
    if (auto fault = TypeFault()) {
      return Unexpected(*std::move(fault));
    }
    PromptTokens tokens;
    const std::int64_t positions = context_.config.max_position_embeddings;
    Expected<std::vector<TokenId>, EncodeFault> prefix = EncodePrefix(positions);
    if (!prefix) {
      return Unexpected(
          EncodeError(prefix.error(), TooManyPositions(SystemField()), SystemField()));
    }
    tokens.prefix = *std::move(prefix);
    if (parts_.truncate_to) {
      Truncate(tokens.prefix);
    }
    if (auto fault = PrefixFault(tokens.prefix)) {
      return Unexpected(*std::move(fault));
    }
    TokenSum sum(parts_.strategy, groups_, context_);
    sum.AddPrefix(tokens.prefix.size());
    std::vector<std::vector<TokenId>> chunks;
    for (std::size_t i = 0; i < parts_.chunks.size(); ++i) {
      if (auto fault = StopFault(context_.interruption)) {
        return Unexpected(*std::move(fault));
      }
      Expected<std::vector<TokenId>> chunk = EncodeChunk(i, sum);
      if (!chunk) {
        return Unexpected(std::move(chunk).error());
      }
      sum.AddChunk(chunk->size());
      chunks.push_back(*std::move(chunk));
      if (auto fault = ChunkFault(chunks.back(), i)) {
        return Unexpected(*std::move(fault));
      }
    }
    tokens.groups = Grouped(std::move(chunks));
    for (std::size_t i = 0; i < parts_.questions.size(); ++i) {
      if (auto fault = StopFault(context_.interruption)) {
        return Unexpected(*std::move(fault));
      }
      Expected<std::vector<TokenId>> question = EncodeQuestion(i, sum);
      if (!question) {
        return Unexpected(std::move(question).error());
      }
      sum.AddQuestion(question->size());
      tokens.questions.push_back(*std::move(question));
      if (auto fault = QuestionFault(tokens.questions.back(), parts_.names[i])) {
        return Unexpected(*std::move(fault));
      }
    }
    return tokens;
  }

 private:
  std::string SystemField() const { return OneFieldOr("system_prompt"); }
  /// The field of all parts, or `other` if each part has its own.
  std::string OneFieldOr(const std::string& other) const {
    return parts_.is_one_field ? parts_.names.front() : other;
  }
  std::string ChunkField(std::size_t chunk) const { return At("chunks", chunk); }

  /// The fault of parts that mix text and ids, or whose text cannot be tokenized.
  std::optional<Error> TypeFault() const {
    if (auto fault = TypeFault(parts_.system_prompt, SystemField())) {
      return fault;
    }
    for (std::size_t i = 0; i < parts_.chunks.size(); ++i) {
      if (auto fault = TypeFault(parts_.chunks[i], ChunkField(i))) {
        return fault;
      }
    }
    for (std::size_t i = 0; i < parts_.questions.size(); ++i) {
      if (auto fault = TypeFault(parts_.questions[i], parts_.names[i])) {
        return fault;
      }
    }
    return std::nullopt;
  }

  std::optional<Error> TypeFault(const TextOrIds& part, const std::string& field) const {
    const bool wants_text =
        IsText(parts_.questions.empty() ? parts_.system_prompt : parts_.questions.front());
    if (IsText(part) != wants_text) {
      return BadRequest("text_and_ids_mixed",
                        "Text and token ids must not be mixed: " + parts_.names.front() + " is " +
                            (wants_text ? "text, " : "token ids, ") + field +
                            (wants_text ? " token ids." : " text."),
                        field);
    }
    if (!wants_text) {
      return std::nullopt;
    }
    if (context_.tokenizer == nullptr) {
      return NoTokenizer(parts_.names.front());  // It is always given; `field` may be absent.
    }
    return IsValidUtf8(Text(part)) ? std::nullopt : std::optional(InvalidUtf8(field));
  }

  Expected<std::vector<TokenId>, EncodeFault> EncodePrefix(std::int64_t limit) const {
    if (!IsText(parts_.system_prompt)) {
      return CopiedIds(parts_.system_prompt);
    }
    const std::string_view text = Text(parts_.system_prompt);
    const std::int64_t most = parts_.truncate_to ? EncodeLimits::kUnlimited : CountedTokens(limit);
    const EncodeLimits limits = {.max_tokens = most, .interruption = context_.interruption};
    const SpecialTokensInText special_tokens = context_.options.special_tokens_in_text;
    if (parts_.adds_special_tokens) {
      return EncodeFromStart(limits, *context_.tokenizer, text, special_tokens);
    }
    Expected<EncodedText, EncodeFault> encoded =
        context_.tokenizer->EncodeWithin(limits, text, {.special_tokens = special_tokens});
    if (!encoded) {
      return Unexpected(encoded.error());
    }
    return std::move(encoded->ids);
  }

  /// Leaves the last tokens of an ordinary prompt, and the BOS that was added to its text.
  void Truncate(std::vector<TokenId>& prompt) const {
    const std::int64_t completion = std::max<std::int64_t>(parts_.max_new_tokens - 1, 0);
    const std::int64_t most = *parts_.truncate_to == -1
                                  ? context_.config.max_position_embeddings - completion
                                  : *parts_.truncate_to;
    const std::int64_t excess = static_cast<std::int64_t>(prompt.size()) - most;
    if (excess <= 0) {
      return;
    }
    const bool has_bos = IsText(parts_.system_prompt) && parts_.adds_special_tokens &&
                         context_.tokenizer->bos().has_value();
    const auto begin = prompt.begin() + (has_bos ? 1 : 0);
    prompt.erase(begin, begin + excess);
  }

  Expected<std::vector<TokenId>> EncodeChunk(std::size_t index, const TokenSum& sum) const {
    const std::int64_t limit = context_.options.chunks.max_chunk_len;
    const std::int64_t most = CountedTokens(limit);
    Expected<std::vector<TokenId>, EncodeFault> chunk = Encode(
        parts_.chunks[index], std::min({most, sum.positions_left_of_chunk(), sum.capacity_left()}));
    if (chunk) {
      return *std::move(chunk);
    }
    const std::string field = OneFieldOr(ChunkField(index));
    if (most <= sum.positions_left_of_chunk() && most <= sum.capacity_left()) {
      return Unexpected(EncodeError(
          chunk.error(), ChunkTooLong("more than " + proto::Count(limit, "token"), index), field));
    }
    return Unexpected(EncodeError(chunk.error(),
                                  sum.positions_left_of_chunk() <= sum.capacity_left()
                                      ? TooManyPositions(OneFieldOr("chunks"))
                                      : TooManyForCapacity(),
                                  field));
  }

  Expected<std::vector<TokenId>> EncodeQuestion(std::size_t index, const TokenSum& sum) const {
    const bool counts = parts_.max_new_tokens > 0;  // Its K/V is kept, too.
    const std::int64_t most = sum.positions_left_of_question();
    const bool fills = counts && sum.capacity_left() < most;
    Expected<std::vector<TokenId>, EncodeFault> question =
        Encode(parts_.questions[index], fills ? sum.capacity_left() : most);
    if (question) {
      return *std::move(question);
    }
    return Unexpected(EncodeError(
        question.error(), fills ? TooManyForCapacity() : TooManyPositions(parts_.names[index]),
        parts_.names[index]));
  }

  /// The tokens of a chunk or a question, which is a later section of a text.
  Expected<std::vector<TokenId>, EncodeFault> Encode(const TextOrIds& part,
                                                     std::int64_t most) const {
    if (!IsText(part)) {
      return CopiedIds(part);
    }
    Expected<EncodedText, EncodeFault> encoded = context_.tokenizer->EncodeWithin(
        {.max_tokens = most, .interruption = context_.interruption}, Text(part),
        {.at_start = false, .special_tokens = context_.options.special_tokens_in_text});
    if (!encoded) {
      return Unexpected(encoded.error());
    }
    return std::move(encoded->ids);
  }

  /// The error of parts whose K/V needs too much memory.
  Error TooManyForCapacity() const {
    return BadRequest(
        "capacity",
        "Too long for the memory of this server: more than " +
            proto::Count(TokenSum::Capacity(context_.limits), "token") +
            " of system prompt, chunks and questions.",
        parts_.is_one_field || parts_.chunks.empty() ? parts_.names.front() : "chunks");
  }

  /// The error of a part with which there are too many tokens.
  Error TooManyPositions(const std::string& field) const {
    return BadRequest("too_many_positions",
                      "Too many positions: " + FarExceeds(context_.config.max_position_embeddings) +
                          "." + parts_.CutHint(),
                      field);
  }

  Error ChunkTooLong(const std::string& length, std::size_t index) const {
    return BadRequest("chunk_too_long", ChunkField(index) + " is too long: " + length + ".",
                      ChunkField(index));
  }

  std::optional<Error> PrefixFault(const std::vector<TokenId>& prefix) const {
    if (prefix.empty() && parts_.questions.empty()) {
      return BadRequest("empty_prompt", "The prompt has no token.", SystemField());
    }
    return VocabularyFault(prefix, SystemField(), context_.config.vocab_size);
  }

  std::optional<Error> ChunkFault(const std::vector<TokenId>& chunk, std::size_t index) const {
    const std::int64_t limit = context_.options.chunks.max_chunk_len;
    const auto length = static_cast<std::int64_t>(chunk.size());
    if (length > limit) {
      return ChunkTooLong(Exceeds(length, limit) + " tokens", index);
    }
    return VocabularyFault(chunk, ChunkField(index), context_.config.vocab_size);
  }

  std::optional<Error> QuestionFault(const std::vector<TokenId>& question,
                                     const std::string& field) const {
    if (question.empty()) {
      return BadRequest("empty_question",
                        parts_.is_one_field
                            ? "The question, after the prompt's last separator, has no "
                              "token."
                            : field + " has no token.",
                        field);
    }
    return VocabularyFault(question, field, context_.config.vocab_size);
  }

  std::vector<ChunkGroup> Grouped(std::vector<std::vector<TokenId>> chunks) const {
    const std::vector<std::int64_t> alone(chunks.size(), 1);
    std::vector<ChunkGroup> groups;
    auto next = std::make_move_iterator(chunks.begin());
    for (const std::int64_t size : groups_.empty() ? std::span(alone) : groups_) {
      groups.emplace_back(next, next + size);
      next += size;
    }
    return groups;
  }

  const PromptParts& parts_;
  const std::span<const std::int64_t> groups_;
  const RequestContext& context_;
};

}  // namespace

PromptParts PartsOfPrompt(TextOrIds prompt, std::string name, const ChunkOptions& options) {
  PromptParts parts;
  parts.system_prompt = prompt;
  parts.names = {std::move(name)};
  parts.is_one_field = true;
  if (!options.enable_chunk_aware || !IsText(prompt)) {
    return parts;
  }
  if (const auto split = SplitAtSeparators(Text(prompt), options.separator)) {
    parts.system_prompt = split->system_prompt;
    parts.chunks = {split->chunks.begin(), split->chunks.end()};
    parts.questions = {split->question};
  }
  return parts;
}

std::size_t PromptTokens::num_chunks() const {
  std::size_t count = 0;
  for (const ChunkGroup& group : groups) {
    count += group.size();
  }
  return count;
}

Expected<PromptTokens> TokenizePrompt(const PromptParts& parts, const RequestContext& context) {
  if (auto fault = CountFault(parts, context.options.max_items)) {
    return Unexpected(*std::move(fault));
  }
  if (parts.chunk_groups) {
    if (auto fault = GroupsFault(*parts.chunk_groups, parts.chunks.size())) {
      return Unexpected(*std::move(fault));
    }
  }
  return PartsTokenizer(parts, context).Tokenize();
}

}  // namespace scorecast::coordinator

#include "coordinator/endpoints/chunked/chunked_tokens.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "coordinator/endpoints/chunked/chunk_separator.h"
#include "coordinator/endpoints/chunked/token_sum.h"
#include "coordinator/endpoints/text_or_ids.h"
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

/// The parts of a request before they are tokenized.
struct Parts {
  TextOrIds system_prompt;
  std::vector<TextOrIds> chunks;
  std::vector<TextOrIds> questions;  ///< Empty for an ordinary prompt.
  std::vector<std::string> names;
};

std::span<const std::int64_t> GroupsOf(const v1::ChunkedRequest& request) {
  return {request.chunk_groups().data(), SizeOf(request.chunk_groups())};
}

Parts FromPrompt(std::string_view prompt, const ChunkOptions& options) {
  const auto split =
      options.enable_chunk_aware ? SplitAtSeparators(prompt, options.separator) : std::nullopt;
  if (!split) {
    return {prompt, {}, {}, {"prompt"}};
  }
  return {split->system_prompt,
          {split->chunks.begin(), split->chunks.end()},
          {split->question},
          {"prompt"}};
}

Parts FromFields(const v1::ChunkedRequest& request) {
  Parts parts;
  parts.chunks = ViewsOf(request.chunks());
  if (request.has_question()) {
    parts.questions = {ViewOf(request.question())};
    parts.names = {"question"};
  } else {
    parts.questions = ViewsOf(request.questions());
    for (std::size_t i = 0; i < parts.questions.size(); ++i) {
      parts.names.push_back(At("questions", i));
    }
  }
  if (request.has_system_prompt()) {
    parts.system_prompt = ViewOf(request.system_prompt());
  } else if (parts.questions.empty() || !IsText(parts.questions.front())) {
    parts.system_prompt = std::span<const TokenId>();
  }
  return parts;
}

std::optional<Error> CountFault(std::size_t num_chunks, std::size_t num_questions,
                                const ChunkedRequest& request, std::int64_t max_items) {
  const auto most = static_cast<std::size_t>(max_items);
  if (request.IsEmptyList(v1::ChunkedRequest::kQuestionsFieldNumber)) {
    return BadRequest("empty_question", "questions must be a nonempty list.", "questions");
  }
  if (num_chunks > most) {
    return BadRequest(
        "too_many_chunks",
        "Too many chunks: " + Exceeds(static_cast<std::int64_t>(num_chunks), max_items) + ".",
        request.message.has_prompt() ? "prompt" : "chunks");
  }
  if (num_questions > most) {
    return BadRequest(
        "too_many_questions",
        "Too many questions: " + Exceeds(static_cast<std::int64_t>(num_questions), max_items) + ".",
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
  PartsTokenizer(const Parts& parts, const v1::ChunkedRequest& request,
                 ChunkPositionStrategy strategy, const RequestContext& context)
      : parts_(parts), request_(request), strategy_(strategy), context_(context) {}

  Expected<ChunkedTokens> Tokenize() {
    if (auto fault = TypeFault()) {
      return Unexpected(*std::move(fault));
    }
    ChunkedTokens tokens;
    const std::int64_t positions = context_.config.max_position_embeddings;
    Expected<std::vector<TokenId>, EncodeFault> prefix = EncodePrefix(positions);
    if (!prefix) {
      return Unexpected(
          EncodeError(prefix.error(), TooManyPositions(SystemField()), SystemField()));
    }
    tokens.prefix = *std::move(prefix);
    tokens.names = parts_.names;
    if (auto fault = PrefixFault(tokens.prefix)) {
      return Unexpected(*std::move(fault));
    }
    TokenSum sum(strategy_, GroupsOf(request_), context_);
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
  std::string SystemField() const { return request_.has_prompt() ? "prompt" : "system_prompt"; }
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
    return EncodeFromStart(
        {.max_tokens = CountedTokens(limit), .interruption = context_.interruption},
        *context_.tokenizer, Text(parts_.system_prompt), context_.options.special_tokens_in_text);
  }

  Expected<std::vector<TokenId>> EncodeChunk(std::size_t index, const TokenSum& sum) const {
    const std::int64_t limit = context_.options.chunks.max_chunk_len;
    const std::int64_t most = CountedTokens(limit);
    Expected<std::vector<TokenId>, EncodeFault> chunk = Encode(
        parts_.chunks[index], std::min({most, sum.positions_left_of_chunk(), sum.capacity_left()}));
    if (chunk) {
      return *std::move(chunk);
    }
    const std::string field = request_.has_prompt() ? "prompt" : ChunkField(index);
    if (most <= sum.positions_left_of_chunk() && most <= sum.capacity_left()) {
      return Unexpected(EncodeError(
          chunk.error(), ChunkTooLong("more than " + proto::Count(limit, "token"), index), field));
    }
    return Unexpected(
        EncodeError(chunk.error(),
                    sum.positions_left_of_chunk() <= sum.capacity_left()
                        ? TooManyPositions(request_.has_prompt() ? "prompt" : "chunks")
                        : TooManyForCapacity(),
                    field));
  }

  Expected<std::vector<TokenId>> EncodeQuestion(std::size_t index, const TokenSum& sum) const {
    const bool counts = request_.max_new_tokens() > 0;  // Its K/V is kept, too.
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
        request_.has_prompt() || parts_.chunks.empty() ? parts_.names.front() : "chunks");
  }

  /// The error of a part with which there are too many tokens.
  Error TooManyPositions(const std::string& field) const {
    return BadRequest(
        "too_many_positions",
        "Too many positions: " + MoreThan(context_.config.max_position_embeddings) + ".", field);
  }

  Error ChunkTooLong(const std::string& length, std::size_t index) const {
    return BadRequest("chunk_too_long", ChunkField(index) + " is too long: " + length + ".",
                      ChunkField(index));
  }

  std::optional<Error> PrefixFault(const std::vector<TokenId>& prefix) const {
    if (prefix.empty() && parts_.questions.empty()) {
      return BadRequest("empty_prompt", "The prompt has no token.", "prompt");
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
                        request_.has_prompt()
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
    for (const std::int64_t size :
         request_.chunk_groups_size() > 0 ? GroupsOf(request_) : std::span(alone)) {
      groups.emplace_back(next, next + size);
      next += size;
    }
    return groups;
  }

  const Parts& parts_;
  const v1::ChunkedRequest& request_;
  const ChunkPositionStrategy strategy_;
  const RequestContext& context_;
};

}  // namespace

std::size_t ChunkedTokens::num_chunks() const {
  std::size_t count = 0;
  for (const ChunkGroup& group : groups) {
    count += group.size();
  }
  return count;
}

Expected<ChunkedTokens> TokenizeChunked(const ChunkedRequest& request,
                                        ChunkPositionStrategy strategy,
                                        const RequestContext& context) {
  const v1::ChunkedRequest& message = request.message;
  const std::int64_t max_items = context.options.max_items;
  // Checked before the prompt is split.
  if (auto fault =
          CountFault(SizeOf(message.chunks()), SizeOf(message.questions()), request, max_items)) {
    return Unexpected(*std::move(fault));
  }
  const Parts parts = message.has_prompt() ? FromPrompt(message.prompt(), context.options.chunks)
                                           : FromFields(message);
  if (auto fault = CountFault(parts.chunks.size(), parts.questions.size(), request, max_items)) {
    return Unexpected(*std::move(fault));
  }
  if (HasList(request, v1::ChunkedRequest::kChunkGroupsFieldNumber)) {
    if (auto fault = GroupsFault(GroupsOf(message), parts.chunks.size())) {
      return Unexpected(*std::move(fault));
    }
  }
  return PartsTokenizer(parts, message, strategy, context).Tokenize();
}

}  // namespace scorecast::coordinator

#include "coordinator/endpoints/score/score_checks.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "coordinator/request/request_checks.h"
#include "coordinator/request/request_error.h"
#include "coordinator/text/unicode/utf8.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {

using proto::Error;
using proto::Expected;
using proto::Unexpected;

JointOptions JointOptionsOf(const CheckedScore& checked) {
  return {.tokenizer = checked.context.tokenizer,
          .special_tokens = checked.context.options.special_tokens_in_text,
          .items_continue_query = checked.context.options.items_continue_query(),
          .item_first = checked.request.item_first(),
          .interruption = checked.context.interruption};
}

std::optional<Error> FieldFault(const MessageRequest<v1::ScoreRequest>& own, ScoreKind kind,
                                const RequestContext& context) {
  const v1::ScoreRequest& request = own.message;
  if (request.max_new_tokens() != 0) {
    return BadRequest("max_new_tokens_not_zero",
                      "Scoring generates nothing: max_new_tokens must be 0, not " +
                          std::to_string(request.max_new_tokens()) + ".",
                      "max_new_tokens");
  }
  if (auto fault = SoftmaxTemperatureFault(request.temperature(), kind, "temperature")) {
    return fault;
  }
  if (auto fault =
          LogprobsFault(request.return_token_logprobs(), request.top_logprobs(), context.config)) {
    return fault;
  }
  if (auto fault = OptionsFault(own)) {
    return fault;
  }
  if (request.has_score_extraction_token() && request.item_first()) {
    return BadRequest("not_supported", "item_first is not supported with score_extraction_token.",
                      "item_first");
  }
  const std::int64_t num_items = std::int64_t{request.items_size()};
  if (num_items > context.options.max_items) {
    return BadRequest("too_many_items",
                      "Too many items: " + Exceeds(num_items, context.options.max_items) + ".",
                      "items");
  }
  return std::nullopt;
}

std::optional<Error> TextOrIdsFault(const TextOrIds& query, const std::vector<TextOrIds>& items,
                                    const RequestContext& context) {
  const bool text = IsText(query);
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (IsText(items[i]) != text) {
      return BadRequest(
          "text_and_ids_mixed",
          "Invalid combination of query/items types for score_request: the query is " +
              std::string(text ? "text, " : "token ids, ") + At("items", i) +
              (text ? " token ids." : " text."),
          At("items", i));
    }
  }
  if (!text) {
    return std::nullopt;
  }
  if (context.tokenizer == nullptr) {
    return NoTokenizer("query");
  }
  if (!IsValidUtf8(Text(query))) {
    return InvalidUtf8("query");
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!IsValidUtf8(Text(items[i]))) {
      return InvalidUtf8(At("items", i));
    }
  }
  return std::nullopt;
}

std::optional<Error> QueryFault(const std::vector<TokenId>& query,
                                const std::optional<TokenId>& extraction_token) {
  if (query.empty()) {
    return BadRequest("empty_query", "The query has no token.", "query");
  }
  if (extraction_token && std::find(query.begin(), query.end(), *extraction_token) != query.end()) {
    return BadRequest("extraction_token_in_query",
                      "score-extraction token found in the shared query prefix; it must appear "
                      "only within items, one per candidate.",
                      "query");
  }
  return std::nullopt;
}

std::optional<Error> PromptFault(const std::vector<TokenId>& prompt, std::size_t item,
                                 const proto::ModelConfig& config) {
  const std::string field = At("items", item);
  if (prompt.empty()) {
    return BadRequest("empty_prompt", "The query and " + field + " together have no token.", field);
  }
  const std::int64_t limit = config.max_position_embeddings;
  const auto rows = static_cast<std::int64_t>(prompt.size());
  if (rows > limit) {
    return TooManyPositions(Exceeds(rows, limit), item);
  }
  // A token may span query and item, so the fault is that of the item.
  return VocabularyFault(prompt, field, config.vocab_size);
}

Expected<std::vector<std::int32_t>> RowsRead(const CheckedScore& checked, std::size_t item,
                                             const std::vector<TokenId>& tokens) {
  std::vector<std::int32_t> rows;
  if (!checked.extraction_token) {
    return rows;
  }
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] == *checked.extraction_token) {
      rows.push_back(static_cast<std::int32_t>(i));
    }
  }
  if (!rows.empty()) {
    return rows;
  }
  const std::string field = At("items", item);
  return Unexpected(
      BadRequest("no_extraction_token",
                 "No score-extraction token (id=" + std::to_string(*checked.extraction_token) +
                     ") found in " + field + "; the client must render one per candidate.",
                 field));
}

Error TooManyPositions(const std::string& positions, std::size_t item) {
  const std::string field = At("items", item);
  return BadRequest(
      "too_many_positions",
      "Too many positions: " + positions + " (query and " + field + ")." + kNothingIsCut, field);
}

}  // namespace scorecast::coordinator

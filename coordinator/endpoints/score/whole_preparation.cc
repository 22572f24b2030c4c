#include "coordinator/endpoints/score/whole_preparation.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "coordinator/chat/text_messages.h"
#include "coordinator/endpoints/text_sequences.h"
#include "coordinator/endpoints/truncation.h"
#include "coordinator/prompts/text_pairs.h"
#include "coordinator/request/request_checks.h"
#include "coordinator/request/request_error.h"
#include "coordinator/schedule/pages/capacity.h"
#include "proto/base/count.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
namespace {

using proto::Error;
using proto::Expected;
using proto::PackedSequence;
using proto::Unexpected;

WholeTextCut CutOfRequest(const v1::ScoreRequest& request) {
  WholeTextCut cut;
  cut.truncate = !request.has_truncate() || request.truncate();
  if (request.has_truncate_prompt_tokens()) {
    cut.truncate_prompt_tokens = request.truncate_prompt_tokens();
  }
  cut.direction = Given(request.has_truncation_direction(), request.truncation_direction());
  if (request.has_truncation_strategy()) {
    cut.strategy = request.truncation_strategy();
  }
  return cut;
}

/// Nothing is added to ids. The query has the type 0, and the item the type 1.
TypedTokens JoinedIds(std::span<const TokenId> query, std::span<const TokenId> item) {
  TypedTokens joined;
  joined.ids.assign(query.begin(), query.end());
  joined.types.assign(query.size(), 0);
  joined.ids.insert(joined.ids.end(), item.begin(), item.end());
  joined.types.resize(joined.ids.size(), 1);
  return joined;
}

/// The fault of one item's ids, the query's included.
std::optional<Error> IdsFault(const TypedTokens& text, std::size_t item,
                              const RequestContext& context) {
  const std::string field = At("items", item);
  if (text.ids.empty()) {
    return BadRequest("empty_prompt", "The query and " + field + " together have no token.", field);
  }
  const auto rows = static_cast<std::int64_t>(text.ids.size());
  if (rows > context.config.max_position_embeddings) {
    return TooManyPositions(Exceeds(rows, context.config.max_position_embeddings), item);
  }
  return VocabularyFault(text.ids, field, context.config.vocab_size);
}

/// The 413 of a query that is too long to be rendered, and tokenized, with each of the items.
std::optional<Error> RepeatedQueryFault(std::string_view query, std::size_t items) {
  if (static_cast<std::int64_t>(query.size()) <=
      RepeatedTokens::kMost / static_cast<std::int64_t>(items)) {
    return std::nullopt;
  }
  return Error{413, "query_too_long",
               "query is too long for so many items: " + proto::Count(query.size(), "byte") +
                   " before each of " + std::to_string(items) + ".",
               "query"};
}

}  // namespace

std::optional<Error> WholeFieldFault(const v1::ScoreRequest& request,
                                     const RequestContext& context) {
  const auto not_supported = [](const std::string& field, const std::string& why) {
    return BadRequest("not_supported", field + " is not supported: " + why, field);
  };
  if (!context.config.read_head) {
    const std::string why = "the model does not read pairs of texts, and texts are not cut.";
    if (request.has_truncation_strategy()) {
      return not_supported("truncation_strategy", why);
    }
    return request.has_truncate_prompt_tokens() && request.truncate_prompt_tokens() != -1
               ? std::optional(not_supported("truncate_prompt_tokens", why))
               : std::nullopt;
  }
  const std::string why = "the model reads query and item as a pair of texts.";
  if (request.item_first()) {
    return not_supported("item_first", why);
  }
  return request.has_score_extraction_token()
             ? std::optional(not_supported("score_extraction_token", why))
             : std::nullopt;
}

Expected<std::vector<PackedSequence>> PrepareWhole(const CheckedScore& checked,
                                                   ScoreReadout& readout) {
  const RequestContext& context = checked.context;
  const WholeTextCut cut = CutOfRequest(checked.request);
  const std::string cut_field = cut.truncate ? "" : "truncate";  // See PairError.
  Expected<Truncation> truncation = TruncationOf(cut, context);
  if (!truncation) {
    return Unexpected(std::move(truncation).error());
  }
  std::optional<TextPairs> pairs;
  std::optional<MessageTokens> messages;
  if (IsText(checked.query) && !checked.items.empty() && context.options.messages != nullptr) {
    if (auto fault = RepeatedQueryFault(Text(checked.query), checked.items.size())) {
      return Unexpected(*std::move(fault));
    }
    messages.emplace(*context.options.messages,
                     MessageOptions{.truncation = *truncation,
                                    .special_tokens = context.options.special_tokens_in_text,
                                    .interruption = context.interruption});
  } else if (IsText(checked.query) && !checked.items.empty()) {
    Expected<TextPairs, TypedFault> made =
        TextPairs::Make(*context.tokenizer, Text(checked.query),
                        {.truncation = *truncation,
                         .special_tokens = context.options.special_tokens_in_text,
                         .adds_tokens = context.options.transformer.adds_tokens,
                         .interruption = context.interruption});
    if (!made) {
      return Unexpected(PairError(made.error(), "query", "items", cut_field));
    }
    pairs = *std::move(made);
  }
  std::vector<PackedSequence> sequences;
  sequences.reserve(checked.items.size());
  for (std::size_t i = 0; i < checked.items.size(); ++i) {
    if (auto fault = StopFault(context.interruption)) {
      return Unexpected(*std::move(fault));
    }
    TypedTokens text;
    if (pairs || messages) {
      const std::string_view item = Text(checked.items[i]);
      Expected<TypedTokens, TypedFault> pair =
          pairs ? pairs->With(item) : messages->Of(Text(checked.query), item);
      if (!pair) {
        return Unexpected(PairError(pair.error(), "query", At("items", i), cut_field));
      }
      text = *std::move(pair);
    } else {
      text = JoinedIds(Ids(checked.query), Ids(checked.items[i]));
    }
    if (auto fault = IdsFault(text, i, context)) {
      return Unexpected(*std::move(fault));
    }
    readout.prompt_tokens += static_cast<std::int64_t>(text.ids.size());
    readout.item_rows.push_back(i);
    sequences.push_back(WholeSequence(std::move(text), context.config, context.tokenizer));
    if (auto fault = CapacityFault(sequences.back(), context.limits)) {
      fault->param = At("items", i);
      return Unexpected(*std::move(fault));
    }
  }
  return sequences;
}

}  // namespace scorecast::coordinator

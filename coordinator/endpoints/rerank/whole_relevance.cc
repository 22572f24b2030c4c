#include "coordinator/endpoints/rerank/whole_relevance.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coordinator/endpoints/truncation.h"
#include "coordinator/prompts/item_prompts.h"
#include "coordinator/prompts/text_pairs.h"
#include "coordinator/prompts/token_cut.h"
#include "coordinator/request/request_checks.h"
#include "coordinator/request/request_error.h"
#include "coordinator/rerank/rerank_prompts.h"
#include "coordinator/rerank/reranker.h"
#include "coordinator/schedule/pages/capacity.h"

namespace scorecast::coordinator {
namespace {

using proto::Error;
using proto::Expected;
using proto::Unexpected;
using TypedResult = Expected<TypedTokens, TypedFault>;

TypedFault FaultOfText(EncodeFault fault, int text) {
  return {.kind = TypedFault::Kind::kEncode, .encode = fault, .text = text};
}

/// The prompts of a rerank template for one query. Each is a text, around which the tokenizer puts
/// its own tokens.
class WholePrompts {
 public:
  static Expected<WholePrompts, TypedFault> Make(const Reranker& reranker, std::string_view query,
                                                 const std::optional<std::string>& instruction,
                                                 const PairLimits& limits) {
    const Tokenizer& tokenizer = reranker.prompt().tokenizer();
    const Expected<std::string, EncodeFault> kept =
        FirstText(tokenizer, query, limits.max_first_tokens, limits.interruption);
    if (!kept) {
      return Unexpected(FaultOfText(kept.error(), 0));
    }
    Expected<ItemPrompts, EncodeFault> items =
        RerankPrompts(reranker, *kept, instruction, {.interruption = limits.interruption});
    if (!items) {
      return Unexpected(FaultOfText(items.error(), 0));
    }
    return WholePrompts(tokenizer, *std::move(items), limits);
  }

  TypedResult With(std::string_view document) const {
    const Expected<std::string, EncodeFault> kept =
        FirstText(*tokenizer_, document, limits_.max_second_tokens, limits_.interruption);
    if (!kept) {
      return Unexpected(FaultOfText(kept.error(), 1));
    }
    const Expected<Continuation, EncodeFault> prompt =
        items_.Uncut(*kept, {.interruption = limits_.interruption});
    if (!prompt) {
      return Unexpected(FaultOfText(prompt.error(), 1));
    }
    std::vector<TokenId> ids = prompt->is_whole ? std::vector<TokenId>() : items_.prefix();
    ids.insert(ids.end(), prompt->head.begin(), prompt->head.end());
    ids.insert(ids.end(), prompt->ids.begin(), prompt->ids.end());
    std::span<const TokenId> text = ids;
    if (tokenizer_->bos() && !text.empty() && text.front() == *tokenizer_->bos()) {
      text = text.subspan(1);  // It is one of the tokenizer's own.
    }
    return ApplyTemplate(tokenizer_->token_template(), text, std::nullopt, limits_.truncation);
  }

 private:
  WholePrompts(const Tokenizer& tokenizer, ItemPrompts items, const PairLimits& limits)
      : tokenizer_(&tokenizer), items_(std::move(items)), limits_(limits) {}

  const Tokenizer* tokenizer_;
  ItemPrompts items_;
  PairLimits limits_;
};

class WholeRelevance {
 public:
  WholeRelevance(const RelevanceInputs& inputs, const PairLimits& limits,
                 const RequestContext& context)
      : inputs_(inputs),
        context_(context),
        reranker_(*context.options.reranker),
        limits_(limits),
        repeated_(inputs.documents_field),
        rows_(inputs.documents.size()) {}

  std::optional<Error> AddQuery(const QueryDocuments& query) {
    if (query.documents.empty()) {
      return std::nullopt;
    }
    if (!reranker_.is_pair()) {
      return AddDocuments(
          query, WholePrompts::Make(reranker_, query.query, inputs_.options.instruction, limits_));
    }
    std::string instructed;
    if (reranker_.takes_instruction()) {
      instructed = inputs_.options.instruction.value_or("");
      instructed = (instructed.empty() ? reranker_.default_instruction() : instructed) +
                   std::string(query.query);
    }
    return AddDocuments(
        query, TextPairs::Make(*context_.tokenizer,
                               reranker_.takes_instruction() ? instructed : query.query, limits_));
  }

  PreparedRelevance Take() && {
    PreparedRelevance prepared;
    prepared.readout.reranker = context_.options.reranker;
    prepared.readout.scale = inputs_.options.scale;
    prepared.readout.documents_field = inputs_.documents_field;
    prepared.readout.rows = std::move(rows_);
    prepared.sequences = std::move(sequences_);
    prepared.prompt_tokens = repeated_.tokens();
    return prepared;
  }

 private:
  /// See PairError.
  std::string CutField() const {
    return inputs_.options.truncate ? std::string() : inputs_.options.truncate_field;
  }

  /// `texts` makes the text or the pair of a document.
  template <typename Texts>
  std::optional<Error> AddDocuments(const QueryDocuments& query,
                                    const Expected<Texts, TypedFault>& texts) {
    if (!texts) {
      return PairError(texts.error(), query.query_field, inputs_.documents_field, CutField());
    }
    for (const std::size_t document : query.documents) {
      if (auto fault = StopFault(context_.interruption)) {
        return fault;
      }
      const std::string field = At(inputs_.documents_field, document);
      TypedResult text = texts->With(inputs_.documents[document]);
      if (!text) {
        return PairError(text.error(), query.query_field, field, CutField());
      }
      if (auto fault = Add(document, *std::move(text), field)) {
        return fault;
      }
    }
    return std::nullopt;
  }

  std::optional<Error> Add(std::size_t document, TypedTokens text, const std::string& field) {
    if (text.ids.empty()) {
      return BadRequest("no_tokens", field + " and its query have no tokens.", field);
    }
    if (auto fault = VocabularyFault(text.ids, field, context_.config.vocab_size)) {
      return fault;
    }
    if (auto fault = repeated_.Add(text.ids.size())) {
      return fault;
    }
    rows_[document] = {.sequence = sequences_.size(), .read = 0};
    sequences_.push_back(WholeSequence(std::move(text), context_.config));
    auto fault = CapacityFault(sequences_.back(), context_.limits);
    if (fault) {
      fault->param = field;
    }
    return fault;
  }

  const RelevanceInputs& inputs_;
  const RequestContext& context_;
  const Reranker& reranker_;
  const PairLimits limits_;
  RepeatedTokens repeated_;
  std::vector<proto::PackedSequence> sequences_;
  std::vector<RelevanceReadout::Row> rows_;  ///< [documents]
};

}  // namespace

Expected<PreparedRelevance> PrepareWholeRelevance(const RelevanceInputs& inputs,
                                                  const RequestContext& context) {
  const RelevanceOptions& options = inputs.options;
  Expected<Truncation> truncation =
      TruncationOf({.truncate = options.truncate,
                    .truncate_prompt_tokens = options.truncate_prompt_tokens,
                    .direction = options.truncation_direction,
                    .strategy = options.truncation_strategy},
                   context);
  if (!truncation) {
    return Unexpected(std::move(truncation).error());
  }
  PairLimits limits = {.truncation = *truncation,
                       .special_tokens = context.options.special_tokens_in_text,
                       .interruption = context.interruption};
  if (options.max_tokens_per_query > 0) {
    limits.max_first_tokens = options.max_tokens_per_query;
  }
  if (options.max_tokens_per_doc > 0) {
    limits.max_second_tokens = options.max_tokens_per_doc;
  }
  WholeRelevance relevance(inputs, limits, context);
  for (const QueryDocuments& query : inputs.queries) {
    if (auto fault = relevance.AddQuery(query)) {
      return Unexpected(*std::move(fault));
    }
  }
  return std::move(relevance).Take();
}

}  // namespace scorecast::coordinator

#include "coordinator/endpoints/rerank/whole_relevance.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coordinator/chat/text_messages.h"
#include "coordinator/endpoints/truncation.h"
#include "coordinator/prompts/item_prompts.h"
#include "coordinator/prompts/prompt_packer.h"
#include "coordinator/prompts/text_pairs.h"
#include "coordinator/prompts/token_cut.h"
#include "coordinator/request/request_checks.h"
#include "coordinator/request/request_error.h"
#include "coordinator/rerank/rerank_prompts.h"
#include "coordinator/rerank/reranker.h"
#include "coordinator/schedule/pages/capacity.h"
#include "proto/base/count.h"

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

/// The pairs of one query with documents, as conversations.
class MessageDocuments {
 public:
  /// What the arguments refer to must outlive the result.
  MessageDocuments(const TextMessages& messages, std::string_view query,
                   std::string_view instruction, const PairLimits& limits)
      : tokenizer_(messages.chat().tokenizer()),
        tokens_(messages, {.prompt = instruction,
                           .truncation = limits.truncation,
                           .special_tokens = limits.special_tokens,
                           .interruption = limits.interruption}),
        query_(query),
        limits_(limits) {}

  Expected<std::vector<TokenId>, TypedFault> Prefix() const { return tokens_.PrefixOf(query_); }

  TypedResult With(std::string_view document) const {
    const Expected<std::string, EncodeFault> kept =
        FirstText(tokenizer_, document, limits_.max_second_tokens, limits_.interruption);
    return kept ? tokens_.Of(query_, *kept) : Unexpected(FaultOfText(kept.error(), 1));
  }

 private:
  const Tokenizer& tokenizer_;
  const MessageTokens tokens_;
  const std::string_view query_;
  const PairLimits& limits_;
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
        packer_(inputs.documents_field, inputs.documents.size(),
                {.label_lists = {&reranker_.labels(), 1}}, context.limits),
        rows_(inputs.documents.size()) {}

  std::optional<Error> AddQuery(const QueryDocuments& query) {
    if (query.documents.empty()) {
      return std::nullopt;
    }
    if (!reranker_.is_pair()) {
      const Expected<WholePrompts, TypedFault> prompts =
          WholePrompts::Make(reranker_, query.query, inputs_.options.instruction, limits_);
      return prompts ? AddDocuments(query, *prompts) : FaultOf(prompts.error(), query);
    }
    std::string instruction;
    if (reranker_.takes_instruction()) {
      instruction = inputs_.options.instruction.value_or("");
      instruction = instruction.empty() ? reranker_.default_instruction() : instruction;
    }
    if (reranker_.messages() != nullptr) {
      return AddMessages(query, instruction);
    }
    const Expected<TextPairs, TypedFault> pairs =
        TextPairs::Make(*context_.tokenizer, instruction + std::string(query.query), limits_);
    if (!pairs) {
      return FaultOf(pairs.error(), query);
    }
    if (!reads_whole()) {
      Begin(pairs->Prefix());
    }
    return AddDocuments(query, *pairs);
  }

  PreparedRelevance Take() && {
    PreparedRelevance prepared;
    prepared.readout.reranker = context_.options.reranker;
    prepared.readout.scale = inputs_.options.scale;
    prepared.readout.documents_field = inputs_.documents_field;
    if (reads_whole()) {
      prepared.readout.rows = std::move(rows_);
      prepared.sequences = std::move(sequences_);
      prepared.prompt_tokens = repeated_.tokens();
      return prepared;
    }
    PackedPrompts packed = std::move(packer_).Take();
    for (const PackedPrompts::ItemReads& reads : packed.items) {
      prepared.readout.rows.push_back({.sequence = reads.sequence, .read = reads.first});
    }
    prepared.sequences = std::move(packed.sequences);
    prepared.prompt_tokens = packed.prompt_tokens;
    return prepared;
  }

 private:
  /// Whether all rows of a text are pooled. Otherwise its last row is read.
  bool reads_whole() const { return context_.config.read_head.has_value(); }

  /// See PairError.
  std::string CutField() const {
    return inputs_.options.truncate ? std::string() : inputs_.options.truncate_field;
  }

  std::optional<Error> FaultOf(const TypedFault& fault, const QueryDocuments& query) const {
    return PairError(fault, query.query_field, inputs_.documents_field, CutField());
  }

  /// Adds documents that are messages, as the query is. Query and instruction are rendered, and
  /// tokenized, with each of them, so both are bounded.
  std::optional<Error> AddMessages(const QueryDocuments& query, std::string_view instruction) {
    const Expected<std::string, EncodeFault> kept =
        FirstText(*context_.tokenizer, query.query, limits_.max_first_tokens, limits_.interruption);
    if (!kept) {
      return FaultOf(FaultOfText(kept.error(), 0), query);
    }
    const auto bytes = static_cast<std::int64_t>(kept->size() + instruction.size());
    const auto documents = static_cast<std::int64_t>(query.documents.size());
    if (bytes > (RepeatedTokens::kMost - rendered_bytes_) / documents) {
      return Error{413, "query_too_long",
                   query.query_field +
                       " is too long for so many documents: " + proto::Count(bytes, "byte") +
                       " with its instruction, before each of " + std::to_string(documents) + ".",
                   query.query_field};
    }
    rendered_bytes_ += bytes * documents;
    const MessageDocuments messages(*reranker_.messages(), *kept, instruction, limits_);
    if (!reads_whole()) {
      Expected<std::vector<TokenId>, TypedFault> prefix = messages.Prefix();
      if (!prefix) {
        return FaultOf(prefix.error(), query);
      }
      Begin(*std::move(prefix));
    }
    return AddDocuments(query, messages);
  }

  /// Begins the pairs of a query, which begin with these tokens unless they are cut.
  void Begin(std::vector<TokenId> prefix) {
    prefix_ = std::move(prefix);
    packer_.Begin(prefix_);
  }

  /// `texts` makes the text or the pair of a document.
  template <typename Texts>
  std::optional<Error> AddDocuments(const QueryDocuments& query, const Texts& texts) {
    for (const std::size_t document : query.documents) {
      if (auto fault = StopFault(context_.interruption)) {
        return fault;
      }
      const std::string field = At(inputs_.documents_field, document);
      TypedResult text = texts.With(inputs_.documents[document]);
      if (!text) {
        return PairError(text.error(), query.query_field, field, CutField());
      }
      if (auto fault = Add(document, *std::move(text), field)) {
        return fault;
      }
    }
    return reads_whole() ? std::nullopt : packer_.PackBlocks();
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
    if (!reads_whole()) {
      return packer_.Add(document, BehindPrefix(std::move(text.ids)));
    }
    rows_[document] = {.sequence = sequences_.size(), .read = 0};
    sequences_.push_back(WholeSequence(std::move(text), context_.config, context_.tokenizer));
    auto fault = CapacityFault(sequences_.back(), context_.limits);
    if (fault) {
      fault->param = field;
    }
    return fault;
  }

  /// The tokens of a pair behind the prefix, or all of them if they do not begin with it.
  Continuation BehindPrefix(std::vector<TokenId> ids) const {
    const bool is_whole =
        !std::ranges::equal(prefix_, std::span(ids).first(std::min(prefix_.size(), ids.size())));
    if (!is_whole) {
      ids.erase(ids.begin(), ids.begin() + std::ssize(prefix_));
    }
    return {.ids = std::move(ids), .is_whole = is_whole};
  }

  const RelevanceInputs& inputs_;
  const RequestContext& context_;
  const Reranker& reranker_;
  const PairLimits limits_;
  RepeatedTokens repeated_;
  std::int64_t rendered_bytes_ = 0;  ///< Of queries and instructions, in all messages.
  // Of a model that reads tokens one after the other.

  std::vector<TokenId> prefix_;  ///< Of the query at hand.
  PromptPacker packer_;
  // Of a model that reads whole texts.

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
  const std::int64_t most = context.options.reranker->max_pair_tokens();
  truncation->max_length = std::min(truncation->max_length, most);
  PairLimits limits = {.truncation = *truncation,
                       .special_tokens = context.options.special_tokens_in_text,
                       .adds_tokens = context.options.transformer.adds_tokens,
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

#include "coordinator/endpoints/rerank/relevance_preparation.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "coordinator/endpoints/rerank/cosine_relevance.h"
#include "coordinator/endpoints/rerank/whole_relevance.h"
#include "coordinator/endpoints/text_sequences.h"
#include "coordinator/endpoints/truncation.h"
#include "coordinator/prompts/item_prompts.h"
#include "coordinator/prompts/prompt_packer.h"
#include "coordinator/prompts/token_cut.h"
#include "coordinator/request/request_checks.h"
#include "coordinator/request/request_error.h"
#include "coordinator/rerank/rerank_prompts.h"
#include "coordinator/rerank/reranker.h"
#include "coordinator/text/unicode/utf8.h"
#include "proto/base/count.h"
#include "proto/log/log.h"

namespace scorecast::coordinator {
namespace {

using proto::Error;
using proto::Expected;
using proto::Unexpected;

/// In the prompt of a template, only the document is cut. A conversation is cut as one text.
std::optional<Error> StrategyFault(const RelevanceOptions& options, const RequestContext& context) {
  if (!options.truncation_strategy) {
    return std::nullopt;
  }
  const Expected<Truncation::Strategy> strategy = StrategyOf(*options.truncation_strategy);
  if (!strategy) {
    return strategy.error();
  }
  if (context.options.reranker->messages() != nullptr) {
    return *strategy == Truncation::Strategy::kLongestFirst
               ? std::nullopt
               : std::optional(BadRequest("not_supported",
                                          "The model's chat template renders query and document "
                                          "as one text: truncation_strategy must be "
                                          "longest_first.",
                                          "truncation_strategy"));
  }
  if (context.options.reranker->is_pair() || context.config.read_head ||
      *strategy == Truncation::Strategy::kOnlySecond) {
    return std::nullopt;
  }
  return BadRequest("not_supported",
                    "The server has a rerank template, which cuts documents only: "
                    "truncation_strategy must be only_second.",
                    "truncation_strategy");
}

/// The first fault that can be found without tokenizing.
std::optional<Error> FieldFault(const RelevanceInputs& inputs, const RequestContext& context) {
  const RelevanceOptions& options = inputs.options;
  if (context.options.reranker == nullptr) {
    return BadRequest("no_reranker", context.options.no_reranker_reason, "");
  }
  if (options.max_tokens_per_doc < 0) {
    return BadRequest("max_tokens_per_doc_out_of_range",
                      "max_tokens_per_doc must be at least 0, not " +
                          std::to_string(options.max_tokens_per_doc) + ".",
                      "max_tokens_per_doc");
  }
  if (options.max_tokens_per_query < -1) {
    return BadRequest("max_tokens_per_query_out_of_range",
                      "max_tokens_per_query must be at least -1, not " +
                          std::to_string(options.max_tokens_per_query) + ".",
                      "max_tokens_per_query");
  }
  if (auto fault = TruncatePromptTokensFault(options.truncate_prompt_tokens)) {
    return fault;
  }
  const Expected<Truncation::Side> side = SideOf(options.truncation_direction, context);
  return side ? StrategyFault(options, context) : std::optional(side.error());
}

std::optional<Error> Utf8Fault(const RelevanceInputs& inputs) {
  if (inputs.options.instruction && !IsValidUtf8(*inputs.options.instruction)) {
    return InvalidUtf8("instruction");
  }
  for (const QueryDocuments& query : inputs.queries) {
    if (!IsValidUtf8(query.query)) {
      return InvalidUtf8(query.query_field);
    }
  }
  for (std::size_t i = 0; i < inputs.documents.size(); ++i) {
    if (!IsValidUtf8(inputs.documents[i])) {
      return InvalidUtf8(At(inputs.documents_field, i));
    }
  }
  return std::nullopt;
}

/// Logs once if a query or a document has control tokens of the template, because its client then
/// writes a prompt around it, which becomes a part of the template's. Such texts are scored as they
/// are, since they may be about these tokens.
void WarnOfPromptsInTexts(const RelevanceInputs& inputs, const RequestContext& context) {
  static std::atomic<bool> has_warned = false;
  const Reranker& reranker = *context.options.reranker;
  if (reranker.is_pair() || has_warned) {
    return;
  }
  const auto warn_of = [&](std::string_view text, const std::string& field) {
    const std::string* token = reranker.prompt().ControlTokenIn(text);
    if (token != nullptr && !has_warned.exchange(true)) {
      proto::LogWarning(
          "{} of a rerank request has {}, which the rerank template {} puts around texts itself: "
          "send query and documents without a prompt{} (logged once)",
          field, Quoted(*token), reranker.name(),
          reranker.takes_instruction() ? ", and an instruction as the field instruction" : "");
    }
  };
  for (const QueryDocuments& query : inputs.queries) {
    warn_of(query.query, query.query_field);
  }
  for (std::size_t i = 0; i < inputs.documents.size() && !ShouldStop(context.interruption); ++i) {
    warn_of(inputs.documents[i], At(inputs.documents_field, i));
  }
}

class RelevancePreparation {
 public:
  RelevancePreparation(const RelevanceInputs& inputs, const RequestContext& context)
      : inputs_(inputs),
        context_(context),
        reranker_(*context.options.reranker),
        limits_{.cut = Given(inputs.options.truncate,
                             *SideOf(inputs.options.truncation_direction, context)),
                .interruption = context.interruption},
        repeated_(inputs.documents_field),
        packer_(inputs.documents_field, inputs.documents.size(),
                {.label_lists = {&reranker_.labels(), 1}}, context.limits) {
    const std::int64_t positions = context.config.max_position_embeddings;
    const std::int64_t prompt_tokens = inputs.options.truncate_prompt_tokens;
    limits_.max_prompt_tokens = prompt_tokens < 0 ? positions : std::min(prompt_tokens, positions);
    if (inputs.options.max_tokens_per_doc > 0) {
      limits_.max_item_tokens = inputs.options.max_tokens_per_doc;
    }
  }

  std::optional<Error> AddQuery(const QueryDocuments& query) {
    if (query.documents.empty()) {
      return std::nullopt;
    }
    const std::int64_t most = inputs_.options.max_tokens_per_query;
    const Expected<std::string, EncodeFault> kept =
        FirstText(reranker_.prompt().tokenizer(), query.query,
                  most > 0 ? most : EncodeLimits::kUnlimited, context_.interruption);
    if (!kept) {
      return EncodeError(kept.error(), QueryTooLong(query.query_field), query.query_field);
    }
    const Expected<ItemPrompts, EncodeFault> prompts =
        RerankPrompts(reranker_, *kept, inputs_.options.instruction,
                      {.max_tokens = CountedTokens(limits_.max_prompt_tokens),
                       .interruption = context_.interruption});
    if (!prompts) {
      return EncodeError(prompts.error(), QueryTooLong(query.query_field), query.query_field);
    }
    if (auto fault =
            VocabularyFault(prompts->prefix(), query.query_field, context_.config.vocab_size)) {
      return fault;
    }
    packer_.Begin(prompts->prefix());
    return reranker_.is_document_first() ? AddDocumentsFirst(query, *prompts)
                                         : AddBlocks(query, *prompts);
  }

  PreparedRelevance Take() && {
    PackedPrompts packed = std::move(packer_).Take();
    PreparedRelevance prepared;
    prepared.readout.reranker = context_.options.reranker;
    prepared.readout.scale = inputs_.options.scale;
    prepared.readout.documents_field = inputs_.documents_field;
    for (const PackedPrompts::ItemReads& reads : packed.items) {
      prepared.readout.rows.push_back({reads.sequence, reads.first});
    }
    prepared.sequences = std::move(packed.sequences);
    prepared.prompt_tokens = packed.prompt_tokens;
    return prepared;
  }

 private:
  Error QueryTooLong(const std::string& query_field) const {
    return BadRequest("query_too_long",
                      "The rerank template with " + query_field + " but no document has " +
                          "more than " + proto::Count(limits_.max_prompt_tokens, "token") + ".",
                      query_field);
  }

  Error DocumentTooLong(const std::string& field) const {
    std::string limit = "more than " + proto::Count(limits_.max_prompt_tokens, "token") +
                        " together with its query";
    if (limits_.max_item_tokens != EncodeLimits::kUnlimited) {
      limit = "more than " + proto::Count(limits_.max_item_tokens, "token") + ", or " + limit;
    }
    return BadRequest("document_too_long",
                      field + " has " + limit + "." + CutHint(inputs_.options.truncate_field),
                      field);
  }

  /// The prompt of a document, or its fault.
  Expected<Continuation> PromptOf(const QueryDocuments& query, const ItemPrompts& prompts,
                                  std::size_t document) {
    if (auto fault = StopFault(context_.interruption)) {
      return Unexpected(*std::move(fault));
    }
    const std::string field = At(inputs_.documents_field, document);
    Expected<Continuation, EncodeFault> prompt = prompts.Item(inputs_.documents[document], limits_);
    if (!prompt) {
      return Unexpected(EncodeError(
          prompt.error(), limits_.cut ? QueryTooLong(query.query_field) : DocumentTooLong(field),
          field));
    }
    for (const std::vector<TokenId>* ids : {&prompt->head, &prompt->ids}) {
      if (auto fault = VocabularyFault(*ids, field, context_.config.vocab_size)) {
        return Unexpected(*std::move(fault));
      }
      if (auto fault = repeated_.Add(ids->size())) {
        return Unexpected(*std::move(fault));
      }
    }
    return *std::move(prompt);
  }

  /// Adds the documents as blocks behind the prefix. A document whose tokens merge with those
  /// before it has a prompt of its own.
  std::optional<Error> AddBlocks(const QueryDocuments& query, const ItemPrompts& prompts) {
    for (const std::size_t document : query.documents) {
      Expected<Continuation> prompt = PromptOf(query, prompts, document);
      if (!prompt) {
        return prompt.error();
      }
      if (auto fault = packer_.Add(document, *std::move(prompt))) {
        return fault;
      }
    }
    return packer_.PackBlocks();
  }

  /// Adds a sequence for each document: prefix and document, then the rest as a suffix.
  std::optional<Error> AddDocumentsFirst(const QueryDocuments& query, const ItemPrompts& prompts) {
    for (const std::size_t document : query.documents) {
      Expected<Continuation> prompt = PromptOf(query, prompts, document);
      if (!prompt) {
        return prompt.error();
      }
      if (auto fault = packer_.AddItemFirst(document, *std::move(prompt))) {
        return fault;
      }
    }
    return std::nullopt;
  }

  const RelevanceInputs& inputs_;
  const RequestContext& context_;
  const Reranker& reranker_;
  ItemLimits limits_;
  RepeatedTokens repeated_;
  PromptPacker packer_;
};

}  // namespace

Expected<PreparedRelevance> PrepareRelevance(const RelevanceInputs& inputs,
                                             const RequestContext& context) {
  if (auto fault = FieldFault(inputs, context)) {
    return Unexpected(*std::move(fault));
  }
  if (auto fault = Utf8Fault(inputs)) {
    return Unexpected(*std::move(fault));
  }
  if (context.options.reranker->compares_vectors()) {
    return PrepareCosineRelevance(inputs, context);
  }
  WarnOfPromptsInTexts(inputs, context);
  if (context.config.read_head || context.options.reranker->is_pair()) {
    return PrepareWholeRelevance(inputs, context);
  }
  RelevancePreparation preparation(inputs, context);
  for (const QueryDocuments& query : inputs.queries) {
    if (auto fault = preparation.AddQuery(query)) {
      return Unexpected(*std::move(fault));
    }
  }
  return std::move(preparation).Take();
}

}  // namespace scorecast::coordinator

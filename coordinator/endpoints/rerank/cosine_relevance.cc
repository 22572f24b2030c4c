#include "coordinator/endpoints/rerank/cosine_relevance.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "coordinator/endpoints/text_sequences.h"
#include "coordinator/endpoints/truncation.h"
#include "coordinator/request/request_error.h"

namespace scorecast::coordinator {
namespace {

using proto::Error;
using proto::Expected;
using proto::Unexpected;

/// What a request may ask of a reranker alone.
std::optional<Error> RerankerFault(const RelevanceOptions& options) {
  const auto refuse = [](const std::string& field) {
    return BadRequest("not_for_embedders",
                      field + " needs a reranker: this model compares vectors of texts.", field);
  };
  if (options.instruction) {
    return refuse("instruction");
  }
  return options.truncation_strategy ? std::optional(refuse("truncation_strategy")) : std::nullopt;
}

class CosineRelevance {
 public:
  /// A text that has a limit of its own is cut at `side` in any case.
  CosineRelevance(const RelevanceInputs& inputs, const TextLength& length, Truncation::Side side,
                  const RequestContext& context)
      : inputs_(inputs), length_(length), side_(side), context_(context) {
    prepared_.readout.reranker = context.options.reranker;
    prepared_.readout.similarity = context.options.embedder.similarity;
    prepared_.readout.documents_field = inputs.documents_field;
    prepared_.readout.rows.resize(inputs.documents.size());
  }

  std::optional<Error> AddQuery(const QueryDocuments& query) {
    if (query.documents.empty()) {
      return std::nullopt;
    }
    const std::size_t of_query = prepared_.sequences.size();
    if (auto fault = Add(query.query, query.query_field, inputs_.options.max_tokens_per_query)) {
      return fault;
    }
    for (const std::size_t document : query.documents) {
      prepared_.readout.rows[document] = {
          .sequence = prepared_.sequences.size(), .read = 0, .query = of_query};
      if (auto fault = Add(inputs_.documents[document], At(inputs_.documents_field, document),
                           inputs_.options.max_tokens_per_doc)) {
        return fault;
      }
    }
    return std::nullopt;
  }

  PreparedRelevance Take() && { return std::move(prepared_); }

 private:
  /// A text is cut to `max_tokens` in any case, if these are more than 0.
  std::optional<Error> Add(std::string_view text, const std::string& field,
                           std::int64_t max_tokens) {
    TextInputs one = {.texts = {{text, std::nullopt}}, .field = field, .length = length_};
    if (max_tokens > 0) {
      one.length.max_tokens = std::min(one.length.max_tokens, max_tokens);
      one.length.cut = side_;
    }
    Expected<TextSequences> made = MakeTextSequences(one, context_);
    if (!made) {
      return std::move(made).error();
    }
    prepared_.sequences.push_back(std::move(made->sequences.front()));
    prepared_.prompt_tokens += made->prompt_tokens;
    return std::nullopt;
  }

  const RelevanceInputs& inputs_;
  const TextLength length_;
  const Truncation::Side side_;
  const RequestContext& context_;
  PreparedRelevance prepared_;
};

}  // namespace

Expected<PreparedRelevance> PrepareCosineRelevance(const RelevanceInputs& inputs,
                                                   const RequestContext& context) {
  if (auto fault = RerankerFault(inputs.options)) {
    return Unexpected(*std::move(fault));
  }
  const Expected<Truncation::Side> side = SideOf(inputs.options.truncation_direction, context);
  Expected<TextLength> length =
      CheckLength(inputs.options.truncate, inputs.options.truncation_direction, context);
  if (!side || !length) {
    return Unexpected(std::move(length).error());
  }
  length->cut_field = inputs.options.truncate_field;
  if (inputs.options.truncate_prompt_tokens > 0) {
    length->max_tokens = inputs.options.truncate_prompt_tokens;
  }
  CosineRelevance relevance(inputs, *length, *side, context);
  for (const QueryDocuments& query : inputs.queries) {
    if (auto fault = relevance.AddQuery(query)) {
      return Unexpected(*std::move(fault));
    }
  }
  return std::move(relevance).Take();
}

}  // namespace scorecast::coordinator

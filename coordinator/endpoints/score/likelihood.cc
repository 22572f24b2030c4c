#include "coordinator/endpoints/score/likelihood.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "coordinator/endpoints/text_or_ids.h"
#include "coordinator/generate/scored_token.h"
#include "coordinator/generate/token_texts.h"
#include "coordinator/request/request_error.h"
#include "coordinator/request/row_scores.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
namespace {

using proto::Error;
using proto::Expected;
using proto::Unexpected;

constexpr const char* kSum = "sum";
constexpr const char* kMean = "mean";
constexpr const char* kBytes = "bytes";

std::optional<Error> NotWithLikelihood(bool is_given, const std::string& field) {
  return is_given ? std::optional(BadRequest("not_supported",
                                             field + " is not supported with likelihood.", field))
                  : std::nullopt;
}

/// Bytes of an item's text; of ids, those of the tokens' texts.
std::int64_t BytesOfItem(const v1::TextOrIds& item, const TokenTexts& texts) {
  if (!item.has_ids()) {
    return static_cast<std::int64_t>(item.text().size());
  }
  std::int64_t bytes = 0;
  for (const TokenId id : item.ids().ids()) {
    bytes += static_cast<std::int64_t>(texts.BytesOf(id).size());
  }
  return bytes;
}

}  // namespace

Expected<std::unique_ptr<EndpointResponse>> LikelihoodReadout::Respond(const JobRows& rows) {
  auto message = std::make_unique<v1::ScoreResponse>();
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Item& item = items[i];
    v1::Numbers& logprobs = *message->add_token_logprobs();
    double sum = 0;
    bool is_greedy = true;
    for (std::size_t k = 0; k < item.tokens.size(); ++k) {
      const TokenId id = item.tokens[k];
      const proto::RowLogits& row = rows.at(item.sequence).at(item.first_read + k);
      if (!IsRowFinite(row)) {
        return Unexpected(NotFinite(At("items", i)));
      }
      const ScoredToken token = *ScoreToken(id, 1, ScoringRead(id, 1), row);
      logprobs.add_values(token.logprob);
      sum += token.logprob;
      is_greedy = is_greedy && token.best.front().first == id;
    }
    message->add_scores()->add_values(sum / item.divisor);
    message->add_is_greedy(is_greedy);
  }
  auto response = std::make_unique<EndpointResponse>(std::move(message));
  // Without items, these lists are empty.
  response->KeepIfEmpty(v1::ScoreResponse::kTokenLogprobsFieldNumber);
  response->KeepIfEmpty(v1::ScoreResponse::kIsGreedyFieldNumber);
  return response;
}

std::optional<Error> LikelihoodFault(const MessageRequest<v1::ScoreRequest>& own,
                                     const RequestContext& context) {
  const v1::ScoreRequest& request = own.message;
  if (!request.likelihood()) {
    return request.has_normalize()
               ? std::optional(BadRequest("normalize_without_likelihood",
                                          "normalize needs likelihood: true.", "normalize"))
               : std::nullopt;
  }
  if (context.config.is_classifier() || context.config.read_head) {
    return NotForClassifiers("likelihood");
  }
  if (context.options.has_sglang_rules()) {
    return BadRequest("not_supported",
                      "likelihood is not supported with --enable-mis or a delimiter.",
                      "likelihood");
  }
  const auto is_given = [&](int size, int field) { return size > 0 || own.IsEmptyList(field); };
  for (const auto& [given, field] : std::initializer_list<std::pair<bool, const char*>>{
           {is_given(request.labels_size(), v1::ScoreRequest::kLabelsFieldNumber), "labels"},
           {request.has_label_token_ids(), "label_token_ids"},
           {request.apply_softmax(), "apply_softmax"},
           {request.has_activation(), "activation"},
           {request.item_first(), "item_first"},
           {request.top_logprobs() != 0, "top_logprobs"},
           {request.has_score_extraction_token(), "score_extraction_token"}}) {
    if (auto fault = NotWithLikelihood(given, field)) {
      return fault;
    }
  }
  const std::string& normalize = request.has_normalize() ? request.normalize() : kSum;
  if (normalize != kSum && normalize != kMean && normalize != kBytes) {
    return BadRequest(
        "unknown_normalize",
        "normalize must be \"sum\", \"mean\" or \"bytes\", not " + Quoted(normalize) + ".",
        "normalize");
  }
  const bool has_ids =
      std::ranges::any_of(request.items(), [](const auto& item) { return item.has_ids(); });
  return normalize == kBytes && has_ids && context.tokenizer == nullptr
             ? std::optional(NoTokenizer("normalize"))
             : std::nullopt;
}

void AddLikelihoods(PackedPrompts packed, const v1::ScoreRequest& request,
                    const RequestContext& context, LikelihoodReadout& readout,
                    PreparedRequest& prepared) {
  const TokenTexts texts(context.tokenizer, false);
  for (std::size_t i = 0; i < packed.items.size(); ++i) {
    const PackedPrompts::ItemReads& reads = packed.items[i];
    LikelihoodReadout::Item& item = readout.items.emplace_back(
        LikelihoodReadout::Item{.sequence = reads.sequence, .first_read = reads.first});
    const std::vector<proto::RowRead>& all = packed.sequences[reads.sequence].reads;
    for (std::size_t k = 0; k < reads.count; ++k) {
      item.tokens.push_back(all[reads.first + k].target);
    }
    std::int64_t divisor = 1;
    if (request.normalize() == kMean) {
      divisor = static_cast<std::int64_t>(item.tokens.size());
    } else if (request.normalize() == kBytes) {
      divisor = BytesOfItem(request.items(static_cast<int>(i)), texts);
    }
    item.divisor = static_cast<double>(std::max<std::int64_t>(divisor, 1));
  }
  readout.prompt_tokens += packed.prompt_tokens;
  prepared.sequences = std::move(packed.sequences);
}

}  // namespace scorecast::coordinator

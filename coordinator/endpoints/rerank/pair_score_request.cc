#include "coordinator/endpoints/rerank/pair_score_request.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "coordinator/endpoints/rerank/pair_score_readout.h"
#include "coordinator/endpoints/rerank/relevance_options.h"
#include "coordinator/endpoints/rerank/relevance_preparation.h"
#include "coordinator/endpoints/response_bytes.h"
#include "coordinator/request/request_error.h"
#include "proto/base/count.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
namespace {

using proto::Expected;
using proto::Unexpected;

/// The texts of a request, and what the client calls them.
struct Pairs {
  std::vector<std::string> queries;
  std::vector<std::string> documents;
  std::string queries_field;
  std::string documents_field;
};

/// vLLM's sentences.
std::optional<proto::Error> PairsFault(const Pairs& pairs) {
  if (pairs.queries.size() > 1 && pairs.queries.size() != pairs.documents.size()) {
    return BadRequest("pairs_mismatch",
                      "Input lengths must be either 1:1, 1:N or N:N, not " +
                          std::to_string(pairs.queries.size()) + ":" +
                          std::to_string(pairs.documents.size()) + ".",
                      pairs.documents_field);
  }
  if (pairs.queries.empty()) {
    return BadRequest("no_pairs", "At least one text element must be given.", pairs.queries_field);
  }
  if (pairs.documents.empty()) {
    return BadRequest("no_pairs", "At least one text_pair element must be given.",
                      pairs.documents_field);
  }
  return std::nullopt;
}

/// Each query's prompts have the instruction, so it is tokenized and kept once for each.
std::optional<proto::Error> InstructionFault(const RelevanceOptions& options,
                                             std::size_t num_queries) {
  constexpr std::size_t kMostBytes = std::size_t{16} << 20;
  const std::size_t bytes = options.instruction.value_or("").size();
  if (bytes <= kMostBytes / std::max<std::size_t>(num_queries, 1)) {
    return std::nullopt;
  }
  return BadRequest("instruction_too_long",
                    "The instruction has " + std::to_string(bytes) + " bytes, which for " +
                        proto::Count(num_queries, "query", "queries") + " are more than " +
                        std::to_string(kMostBytes) + ".",
                    "instruction");
}

/// Equal queries are one, so that their documents share it.
std::vector<QueryDocuments> Grouped(const Pairs& pairs) {
  std::vector<QueryDocuments> groups;
  std::unordered_map<std::string_view, std::size_t> group_of_query;
  const bool is_one_query = pairs.queries.size() == 1;
  for (std::size_t i = 0; i < pairs.documents.size(); ++i) {
    const std::size_t index = is_one_query ? 0 : i;
    const std::string_view query = pairs.queries[index];
    const auto [group, is_new] = group_of_query.emplace(query, groups.size());
    if (is_new) {
      groups.push_back({query, At(pairs.queries_field, index), {}});
    }
    groups[group->second].documents.push_back(i);
  }
  return groups;
}

}  // namespace

Expected<PreparedRequest> PreparePairScore(MessageRequest<v1::PairScoreRequest> request,
                                           const RequestContext& context,
                                           const OnDelta& /*on_delta*/) {
  const Pairs pairs = {TextsOf(*request.message.mutable_queries()),
                       TextsOf(*request.message.mutable_documents()),
                       request.NameOf(v1::PairScoreRequest::kQueriesFieldNumber),
                       request.NameOf(v1::PairScoreRequest::kDocumentsFieldNumber)};
  if (auto fault = OptionsFault(request)) {
    return Unexpected(*std::move(fault));
  }
  const Expected<RelevanceOptions> options = RelevanceOf(request);
  if (!options) {
    return Unexpected(options.error());
  }
  if (auto fault = PairsFault(pairs)) {
    return Unexpected(*std::move(fault));
  }
  const std::vector<QueryDocuments> groups = Grouped(pairs);
  if (auto fault = InstructionFault(*options, groups.size())) {
    return Unexpected(*std::move(fault));
  }
  Expected<PreparedRelevance> relevant = PrepareRelevance({.queries = groups,
                                                           .documents = pairs.documents,
                                                           .documents_field = pairs.documents_field,
                                                           .options = *options},
                                                          context);
  if (!relevant) {
    return Unexpected(std::move(relevant).error());
  }
  auto readout = std::make_shared<PairScoreReadout>();
  readout->relevance = std::move(relevant->readout);
  readout->prompt_tokens = relevant->prompt_tokens;
  readout->identity = request.identity;
  readout->description = request.form->response();
  return PreparedRequest{.sequences = std::move(relevant->sequences),
                         .generations = {},
                         .readout = std::move(readout)};
}

std::int64_t PairScoreResponseBytesBound(const MessageRequest<v1::PairScoreRequest>& request,
                                         const proto::ModelConfig& config) {
  return kOtherBytes + std::int64_t{request.message.documents_size()} *
                           (kListBytes + kNumberBytes + EmbeddingBytes(config));
}

}  // namespace scorecast::coordinator

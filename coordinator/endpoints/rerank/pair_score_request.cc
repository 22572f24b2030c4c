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
#include "coordinator/endpoints/rerank/relevance_preparation.h"
#include "coordinator/endpoints/response_bytes.h"
#include "coordinator/request/request_error.h"
#include "proto/base/count.h"

namespace scorecast::coordinator {
namespace {

using proto::Expected;
using proto::Unexpected;

/// vLLM's sentences.
std::optional<proto::Error> PairsFault(const PairScoreRequest& request) {
  if (request.queries.size() > 1 && request.queries.size() != request.documents.size()) {
    return BadRequest("pairs_mismatch",
                      "Input lengths must be either 1:1, 1:N or N:N, not " +
                          std::to_string(request.queries.size()) + ":" +
                          std::to_string(request.documents.size()) + ".",
                      request.documents_field);
  }
  if (request.queries.empty()) {
    return BadRequest("no_pairs", "At least one text element must be given.",
                      request.queries_field);
  }
  if (request.documents.empty()) {
    return BadRequest("no_pairs", "At least one text_pair element must be given.",
                      request.documents_field);
  }
  return std::nullopt;
}

/// Each query's prompts have the instruction, so it is tokenized and kept once for each.
std::optional<proto::Error> InstructionFault(const PairScoreRequest& request,
                                             std::size_t num_queries) {
  constexpr std::size_t kMostBytes = std::size_t{16} << 20;
  const std::size_t bytes = request.relevance.instruction.value_or("").size();
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
std::vector<QueryDocuments> Grouped(const PairScoreRequest& request) {
  std::vector<QueryDocuments> groups;
  std::unordered_map<std::string_view, std::size_t> group_of_query;
  const bool is_one_query = request.queries.size() == 1;
  for (std::size_t i = 0; i < request.documents.size(); ++i) {
    const std::size_t index = is_one_query ? 0 : i;
    const std::string_view query = request.queries[index];
    const auto [group, is_new] = group_of_query.emplace(query, groups.size());
    if (is_new) {
      groups.push_back({query, At(request.queries_field, index), {}});
    }
    groups[group->second].documents.push_back(i);
  }
  return groups;
}

}  // namespace

Expected<PreparedRequest> PairScoreRequest::Prepare(const RequestContext& context,
                                                    const OnDelta& /*on_delta*/) const {
  if (auto fault = OptionsFault(*this)) {
    return Unexpected(*std::move(fault));
  }
  if (auto fault = PairsFault(*this)) {
    return Unexpected(*std::move(fault));
  }
  const std::vector<QueryDocuments> groups = Grouped(*this);
  if (auto fault = InstructionFault(*this, groups.size())) {
    return Unexpected(*std::move(fault));
  }
  Expected<PreparedRelevance> relevant = PrepareRelevance({.queries = groups,
                                                           .documents = documents,
                                                           .documents_field = documents_field,
                                                           .options = relevance},
                                                          context);
  if (!relevant) {
    return Unexpected(std::move(relevant).error());
  }
  auto readout = std::make_shared<PairScoreReadout>();
  readout->relevance = std::move(relevant->readout);
  readout->prompt_tokens = relevant->prompt_tokens;
  readout->identity = identity;
  return PreparedRequest{.sequences = std::move(relevant->sequences),
                         .generations = {},
                         .readout = std::move(readout)};
}

std::int64_t PairScoreRequest::ResponseBytesBound(const proto::ModelConfig& /*config*/) const {
  return kOtherBytes + static_cast<std::int64_t>(documents.size()) * (kListBytes + kNumberBytes);
}

}  // namespace scorecast::coordinator

#include "coordinator/endpoints/rerank/ranking.h"

#include <cmath>
#include <cstddef>
#include <memory>
#include <numeric>
#include <utility>

#include "coordinator/endpoints/rerank/relevance_preparation.h"
#include "coordinator/endpoints/rerank/rerank_readout.h"
#include "coordinator/request/request_error.h"

namespace scorecast::coordinator {

proto::Expected<PreparedRequest> PrepareRanking(Ranking ranking, const RequestContext& context) {
  if (ranking.top_n < 0) {
    return proto::Unexpected(BadRequest(
        "top_n_out_of_range",
        ranking.top_n_field + " must be at least 0, not " + std::to_string(ranking.top_n) + ".",
        ranking.top_n_field));
  }
  if (ranking.score_threshold && std::isnan(*ranking.score_threshold)) {
    return proto::Unexpected(BadRequest("score_threshold_out_of_range",
                                        "score_threshold must be a number, not NaN.",
                                        "score_threshold"));
  }
  QueryDocuments all{.query = ranking.query, .query_field = "query", .documents = {}};
  all.documents.resize(ranking.documents.size());
  std::iota(all.documents.begin(), all.documents.end(), std::size_t{0});
  proto::Expected<PreparedRelevance> relevant =
      PrepareRelevance({.queries = {&all, 1},
                        .documents = ranking.documents,
                        .documents_field = ranking.documents_field,
                        .options = ranking.options},
                       context);
  if (!relevant) {
    return proto::Unexpected(std::move(relevant).error());
  }
  auto readout = std::make_shared<RerankReadout>();
  readout->relevance = std::move(relevant->readout);
  readout->prompt_tokens = relevant->prompt_tokens;
  readout->identity = ranking.identity;
  readout->top_n = ranking.top_n;
  readout->score_threshold = ranking.score_threshold;
  readout->description = ranking.description;
  readout->returns_documents = ranking.returns_documents;
  if (ranking.returns_documents) {
    readout->documents = std::move(ranking.records.empty() ? ranking.documents : ranking.records);
  }
  return PreparedRequest{.sequences = std::move(relevant->sequences),
                         .generations = {},
                         .readout = std::move(readout)};
}

}  // namespace scorecast::coordinator

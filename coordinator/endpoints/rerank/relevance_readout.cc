#include "coordinator/endpoints/rerank/relevance_readout.h"

#include <cmath>
#include <span>

#include "coordinator/request/request_error.h"
#include "coordinator/request/row_scores.h"

namespace scorecast::coordinator {

namespace {

double ScoreOf(const Reranker& reranker, ScoreScale scale, std::span<const float> logits) {
  switch (scale) {
    case ScoreScale::kModel:
      break;
    case ScoreScale::kRaw:
      return reranker.RawScore(logits);
    case ScoreScale::kSigmoid:
      return reranker.Sigmoid(logits);
  }
  return reranker.Score(logits);
}

}  // namespace

proto::Expected<std::vector<Relevance>> RelevanceReadout::Of(const JobRows& job_rows) const {
  std::vector<Relevance> relevances;
  relevances.reserve(rows.size());
  for (const Row& row : rows) {
    const proto::RowLogits& read = job_rows[row.sequence][row.read];
    Relevance one;
    if (reranker->compares_vectors()) {
      one.raw = SimilarityOf(similarity, job_rows[row.query][0].embedding, read.embedding);
      one.score = one.raw;
    } else {
      one.raw = reranker->RawScore(read.label_logits);
      one.score = ScoreOf(*reranker, scale, read.label_logits);
    }
    if (!LogitsAreFinite(read) || !std::isfinite(one.score)) {
      return proto::Unexpected(NotFinite(At(documents_field, relevances.size())));
    }
    relevances.push_back(one);
  }
  return relevances;
}

}  // namespace scorecast::coordinator

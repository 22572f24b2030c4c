#include "coordinator/endpoints/rerank/relevance_readout.h"

#include <algorithm>
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

proto::Expected<std::vector<double>> RelevanceReadout::Scores(const JobRows& job_rows) const {
  std::vector<double> scores;
  scores.reserve(rows.size());
  for (const Row& row : rows) {
    if (reranker == nullptr) {
      scores.push_back(SimilarityOf(similarity, job_rows[row.query][0].embedding,
                                    job_rows[row.sequence][0].embedding));
      if (!std::isfinite(scores.back())) {
        return proto::Unexpected(NotFinite(At(documents_field, scores.size() - 1)));
      }
      continue;
    }
    const std::vector<float>& logits = job_rows[row.sequence][row.read].label_logits;
    const bool is_finite =
        std::ranges::all_of(logits, [](float logit) { return std::isfinite(logit); });
    if (is_finite) {
      scores.push_back(ScoreOf(*reranker, scale, logits));
    }
    if (!is_finite || !std::isfinite(scores.back())) {
      return proto::Unexpected(NotFinite(At(documents_field, scores.size() - (is_finite ? 1 : 0))));
    }
  }
  return scores;
}

}  // namespace scorecast::coordinator

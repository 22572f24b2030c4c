#include "coordinator/endpoints/rerank/relevance_readout.h"

#include <algorithm>
#include <cmath>

#include "coordinator/request/request_error.h"
#include "coordinator/request/row_scores.h"

namespace scorecast::coordinator {

proto::Expected<std::vector<double>> RelevanceReadout::Scores(const JobRows& job_rows) const {
  std::vector<double> scores;
  scores.reserve(rows.size());
  for (const Row& row : rows) {
    const std::vector<float>& logits = job_rows[row.sequence][row.read].label_logits;
    const bool is_finite =
        std::ranges::all_of(logits, [](float logit) { return std::isfinite(logit); });
    if (is_finite) {
      scores.push_back(raw_scores ? reranker->RawScore(logits) : reranker->Score(logits));
    }
    if (!is_finite || !std::isfinite(scores.back())) {
      return proto::Unexpected(NotFinite(At(documents_field, scores.size() - (is_finite ? 1 : 0))));
    }
  }
  return scores;
}

}  // namespace scorecast::coordinator

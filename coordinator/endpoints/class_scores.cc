#include "coordinator/endpoints/class_scores.h"

#include <optional>
#include <utility>
#include <vector>

#include "coordinator/request/request_error.h"
#include "coordinator/request/row_scores.h"

namespace scorecast::coordinator {

proto::Expected<std::vector<double>> ClassScores::Of(const proto::RowLogits& row,
                                                     std::size_t index) const {
  const ScoreKind of_classes =
      row.label_logits.size() == 1 ? ScoreKind::kSigmoid : ScoreKind::kSoftmax;
  std::optional<std::vector<double>> scores =
      ScoresOfRow(row, is_raw ? ScoreKind::kLogit : of_classes, /*temperature=*/1);
  if (!scores) {
    return proto::Unexpected(NotFinite(At(field, index)));
  }
  return *std::move(scores);
}

}  // namespace scorecast::coordinator

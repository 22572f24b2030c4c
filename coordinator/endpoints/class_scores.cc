#include "coordinator/endpoints/class_scores.h"

#include <optional>

#include "coordinator/request/request_error.h"
#include "coordinator/request/row_scores.h"

namespace scorecast::coordinator {

proto::Expected<std::vector<double>> ClassScores::Of(const proto::RowLogits& row,
                                                     std::size_t index) const {
  RowReadout readout;
  readout.kind = row.label_logits.size() == 1 ? ScoreKind::kSigmoid : ScoreKind::kSoftmax;
  readout.kind = is_raw ? ScoreKind::kLogit : readout.kind;
  std::optional<RowScores> scores = ScoresOfRow(row, readout);
  if (!scores) {
    return proto::Unexpected(NotFinite(At(field, index)));
  }
  return std::move(scores->scores);
}

}  // namespace scorecast::coordinator

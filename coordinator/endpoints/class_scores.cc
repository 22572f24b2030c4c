#include "coordinator/endpoints/class_scores.h"

#include <optional>

#include "coordinator/request/row_scores.h"

namespace scorecast::coordinator {

proto::Expected<std::vector<double>> ClassScores(const proto::RowLogits& row, bool is_raw,
                                                 const std::string& field) {
  RowReadout readout;
  readout.kind = row.label_logits.size() == 1 ? ScoreKind::kSigmoid : ScoreKind::kSoftmax;
  readout.kind = is_raw ? ScoreKind::kLogit : readout.kind;
  std::optional<RowScores> scores = ScoresOfRow(row, readout);
  if (!scores) {
    return proto::Unexpected(NotFinite(field));
  }
  return std::move(scores->scores);
}

}  // namespace scorecast::coordinator

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "coordinator/request/score_kind.h"
#include "proto/base/expected.h"
#include "proto/plan/row_logits.h"

namespace scorecast::coordinator {

/// What a request makes of the logits of classes.
struct ClassScores {
  ScoreKind kind = ScoreKind::kLogit;  ///< See KindOfClasses.
  std::string field;                   ///< Name of the texts in the request.

  /// [classes] The scores of a row. The 500 "not_finite" names text `index`.
  proto::Expected<std::vector<double>> Of(const proto::RowLogits& row, std::size_t index) const;
};

/// [classes] The classes of a row by their logits, the largest first; equal ones in their order.
/// Scores do not tell them apart: a softmax underflows to 0, and a sigmoid rounds to 1.
std::vector<std::size_t> ClassesBestFirst(const proto::RowLogits& row);

}  // namespace scorecast::coordinator

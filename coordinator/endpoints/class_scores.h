#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "proto/base/expected.h"
#include "proto/plan/row_logits.h"

namespace scorecast::coordinator {

/// What a request makes of the logits of classes.
struct ClassScores {
  bool is_raw = false;
  std::string field;  ///< Name of the texts in the request.

  /// The scores of a row: the softmax of its classes or, of one class, its sigmoid; or the logits,
  /// if `is_raw`. The 500 "not_finite" names text `index`.
  proto::Expected<std::vector<double>> Of(const proto::RowLogits& row, std::size_t index) const;
};

}  // namespace scorecast::coordinator

#pragma once

#include <string>
#include <vector>

#include "proto/base/expected.h"
#include "proto/plan/row_logits.h"

namespace scorecast::coordinator {

/// The scores of the classes of a text: their softmax or, of one class, its sigmoid; or the logits,
/// if `is_raw`. The 500 "not_finite" names `field`.
proto::Expected<std::vector<double>> ClassScores(const proto::RowLogits& row, bool is_raw,
                                                 const std::string& field);

}  // namespace scorecast::coordinator

#pragma once

#include <vector>

#include "coordinator/doors/score_preparation.h"
#include "coordinator/doors/score_request.h"
#include "proto/base/expected.h"
#include "proto/plan/row_logits.h"

namespace scorecast::coordinator {

/// The answer from the rows read, [sequences][reads] as PrepareScore asked for them; timings are
/// not set. Log-probability = logit - max - log(sum_exp), in float64; softmax over the labels in
/// their order, from the logits minus their largest, divided by the temperature. A 500 "not_finite"
/// where a number is not finite, with the item as its `param`.
proto::Expected<ScoreResponse> ScoresFromRows(
    const ScoreReadout& readout, const std::vector<std::vector<proto::RowLogits>>& rows);

}  // namespace scorecast::coordinator

#pragma once

#include <vector>

#include "coordinator/endpoints/score/score_preparation.h"
#include "coordinator/endpoints/score/score_request.h"
#include "proto/base/expected.h"
#include "proto/plan/row_logits.h"

namespace scorecast::coordinator {

/// The answer from the rows read, [sequences][reads] as PrepareScore asked for them; timings are
/// not set. A 500 "not_finite" where a number is not finite, with the item as its `param`.
proto::Expected<ScoreResponse> ScoresFromRows(
    const ScoreReadout& readout, const std::vector<std::vector<proto::RowLogits>>& rows);

}  // namespace scorecast::coordinator

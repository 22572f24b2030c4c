#pragma once

#include <optional>
#include <vector>

#include "coordinator/endpoints/score/score_checks.h"
#include "coordinator/endpoints/score/score_readout.h"
#include "proto/base/error.h"
#include "proto/base/expected.h"
#include "proto/plan/packed_sequence.h"

namespace scorecast::coordinator {

/// The fault of what a request wants of a model that reads whole texts, or of cutting that it wants
/// of another model.
std::optional<proto::Error> WholeFieldFault(const v1::ScoreRequest& request,
                                            const RequestContext& context);

/// Makes a sequence for each item, whose rows are pooled: the query and the item as a pair of
/// texts, cut as the request says; or their ids as they are, with the types 0 and 1. Says in the
/// readout where the items' rows are.
proto::Expected<std::vector<proto::PackedSequence>> PrepareWhole(const CheckedScore& checked,
                                                                 ScoreReadout& readout);

}  // namespace scorecast::coordinator

#pragma once

#include "coordinator/endpoints/endpoint.h"
#include "coordinator/endpoints/score/score_request.h"
#include "coordinator/request/request_context.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// Checks, tokenizes and packs a request, which gets a ScoreReadout.
///
/// In multi-item mode there is one sequence, which reads the query's row if the response needs it,
/// and then the last row of each item. One by one there is a sequence for each item, which reads
/// its last row. Without items there is none.
proto::Expected<PreparedRequest> PrepareScore(const ScoreRequest& request,
                                              const RequestContext& context);

}  // namespace scorecast::coordinator

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "coordinator/request/request_context.h"
#include "coordinator/request/row_scores.h"
#include "coordinator/endpoints/score/score_request.h"
#include "proto/base/expected.h"
#include "proto/plan/packed_sequence.h"

namespace scorecast::coordinator {

/// How the rows that come back become the answer.
struct ScoreReadout {
  std::size_t num_items = 0;
  bool query_row = false;  ///< The first row read is the query's; the items' follow.
  RowReadout row;
  bool query_token_logprobs = false;
  bool item_first_ignored = false;
  std::string model;
  Usage usage;
};

/// A request that nothing but a machine's failure or a broken checkpoint can refuse any more.
struct PreparedScore {
  /// None for a request without items. In multi-item mode one, which reads the query's row where
  /// the answer needs it and then each item's; one by one, a prompt for each item, which reads its
  /// last row.
  std::vector<proto::PackedSequence> sequences;
  ScoreReadout readout;
};

/// Checks, tokenizes and packs a request. Every fault a request can have is found here (or before,
/// by the door that read it): 400 with the field and its index.
proto::Expected<PreparedScore> PrepareScore(const ScoreRequest& request,
                                            const RequestContext& context);

}  // namespace scorecast::coordinator

#pragma once

#include "coordinator/endpoints/rerank/relevance_preparation.h"
#include "coordinator/request/request_context.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// PrepareRelevance for an embedding model: a document's score is the similarity of its vector
/// with that of its query. Each text has a sequence of its own, with the model's default prompt, if
/// there is one. Fields and UTF-8 have been checked.
proto::Expected<PreparedRelevance> PrepareCosineRelevance(const RelevanceInputs& inputs,
                                                          const RequestContext& context);

}  // namespace scorecast::coordinator

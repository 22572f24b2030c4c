#pragma once

#include "coordinator/endpoints/rerank/relevance_preparation.h"
#include "coordinator/request/request_context.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// PrepareRelevance for a model that reads whole texts. Each document has a sequence, whose rows
/// are pooled: its pair with the query, as the tokenizer makes it, or the prompt of the rerank
/// template. Pairs are cut as `truncation_strategy` says. A prompt is cut as a text, so that it may
/// lose what stands around the document as well. Fields and UTF-8 have been checked.
proto::Expected<PreparedRelevance> PrepareWholeRelevance(const RelevanceInputs& inputs,
                                                         const RequestContext& context);

}  // namespace scorecast::coordinator

#pragma once

#include "coordinator/endpoints/rerank/relevance_preparation.h"
#include "coordinator/request/request_context.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// PrepareRelevance for a model that reads whole texts, or whose documents are pairs with the
/// query: as the tokenizer makes them, or two messages of a conversation. Pairs of the tokenizer
/// are cut as `truncation_strategy` says. A conversation, or the prompt of a rerank template, is
/// cut as a text. If a model reads whole texts, each document has a sequence, whose rows are
/// pooled. Otherwise the documents of a query are blocks behind the tokens with which all its pairs
/// begin, and the last row of a pair is read. Fields and UTF-8 have been checked.
proto::Expected<PreparedRelevance> PrepareWholeRelevance(const RelevanceInputs& inputs,
                                                         const RequestContext& context);

}  // namespace scorecast::coordinator

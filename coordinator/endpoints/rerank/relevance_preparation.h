#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/endpoints/rerank/relevance_options.h"
#include "coordinator/endpoints/rerank/relevance_readout.h"
#include "coordinator/request/request_context.h"
#include "proto/base/expected.h"
#include "proto/plan/packed_sequence.h"

namespace scorecast::coordinator {

/// A query and the documents that are scored against it.
struct QueryDocuments {
  std::string_view query;
  std::string query_field;             ///< Names the query in errors: "query", "text_1[3]".
  std::vector<std::size_t> documents;  ///< Indices. Each document belongs to one query.
};

/// What is scored in one request.
struct RelevanceInputs {
  std::span<const QueryDocuments> queries;
  std::span<const std::string> documents;
  std::string documents_field;  ///< Name of the documents' field in the request.
  const RelevanceOptions& options;
};

struct PreparedRelevance {
  std::vector<proto::PackedSequence> sequences;
  RelevanceReadout readout;
  std::int64_t prompt_tokens = 0;  ///< See Usage.
};

/// Checks, tokenizes and packs queries and documents by the server's rerank template.
///
/// If the template puts the query first, all documents of a query are blocks behind the query's
/// prefix, in one sequence of any length, which the scheduler computes in as many passes as it
/// takes, or in several if one can never be computed. If the document stands first, each document
/// has a sequence: the document, which other requests may find in the cache, then the query as a
/// suffix. What is computed for a document depends on the query and that document alone. For a
/// model that reads whole texts, and for pairs, see PrepareWholeRelevance.
proto::Expected<PreparedRelevance> PrepareRelevance(const RelevanceInputs& inputs,
                                                    const RequestContext& context);

}  // namespace scorecast::coordinator

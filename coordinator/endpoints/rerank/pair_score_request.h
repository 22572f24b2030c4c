#pragma once

#include <string>
#include <vector>

#include "coordinator/endpoints/endpoint.h"
#include "coordinator/endpoints/rerank/relevance_options.h"

namespace scorecast::coordinator {

/// A request to /v1/score as vLLM has it: pairs of a query and a document. Either there is one
/// query for all documents, or there are as many queries as documents.
struct PairScoreRequest : EndpointRequest {
  std::vector<std::string> queries;
  std::vector<std::string> documents;
  std::string queries_field;    ///< Name of the field in the request, which has several names.
  std::string documents_field;  ///< The same.
  RelevanceOptions relevance;

  proto::Expected<PreparedRequest> Prepare(const RequestContext& context,
                                           const OnDelta& on_delta) const override;
  std::int64_t ResponseBytesBound(const proto::ModelConfig& config) const override;
};

}  // namespace scorecast::coordinator

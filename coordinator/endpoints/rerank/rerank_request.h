#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/endpoints/endpoint.h"
#include "coordinator/endpoints/rerank/relevance_options.h"
#include "coordinator/request/server_options.h"

namespace scorecast::coordinator {

/// A request to /v1/rerank. The fields are those of docs/requests.md.
struct RerankRequest : EndpointRequest {
  std::string query;
  std::vector<std::string> documents;
  RelevanceOptions relevance;
  std::int64_t top_n = 0;  ///< 0: all documents are returned.
  /// If it is not set, the form of the response decides.
  std::optional<bool> return_documents;
  /// Set if the request itself decides the form of the response.
  std::optional<RerankForm> form;

  proto::Expected<PreparedRequest> Prepare(const RequestContext& context,
                                           const OnDelta& on_delta) const override;
  std::int64_t ResponseBytesBound(const proto::ModelConfig& config) const override;
};

}  // namespace scorecast::coordinator

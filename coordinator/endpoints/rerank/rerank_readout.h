#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/endpoints/endpoint.h"
#include "coordinator/endpoints/rerank/relevance_readout.h"
#include "proto/base/count.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// How the rows of a rerank request become its response.
struct RerankReadout : Readout {
  RelevanceReadout relevance;
  std::int64_t top_n = 0;                 ///< 0: all.
  std::optional<double> score_threshold;  ///< See Ranking.
  /// Those of the request, if they are returned. Respond moves them into the response.
  std::vector<std::string> documents;
  bool returns_documents = false;
  /// Describes the response's JSON.
  const google::protobuf::Descriptor* description = nullptr;
  std::optional<ResponseIdentity> identity;  ///< That of the request.

  proto::Expected<std::unique_ptr<EndpointResponse>> Respond(const JobRows& rows) override;
  std::string Summary() const override { return proto::Count(Items(), "document"); }
  std::int64_t Items() const override { return static_cast<std::int64_t>(relevance.rows.size()); }
};

}  // namespace scorecast::coordinator

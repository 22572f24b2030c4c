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

struct PairScoreResponse : EndpointResponse {
  std::string id;
  std::int64_t created = 0;    ///< Seconds since 1970.
  std::vector<double> scores;  ///< [documents]

  OrderedJson ToJson() const override;
  /// As a ScoreResponse with one score for each item.
  void ToMessage(v1::Response& message) const override;
};

/// How the rows of such a request become its response.
struct PairScoreReadout : Readout {
  RelevanceReadout relevance;
  std::optional<ResponseIdentity> identity;  ///< That of the request.

  proto::Expected<std::unique_ptr<EndpointResponse>> Respond(const JobRows& rows) const override;
  std::string Summary() const override { return proto::Count(Items(), "pair"); }
  std::int64_t Items() const override { return static_cast<std::int64_t>(relevance.rows.size()); }
};

}  // namespace scorecast::coordinator

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

/// How the rows of such a request become its response.
struct PairScoreReadout : Readout {
  RelevanceReadout relevance;
  std::optional<ResponseIdentity> identity;  ///< That of the request.
  /// Describes the response's JSON, if it is not the message itself.
  const google::protobuf::Descriptor* description = nullptr;

  proto::Expected<std::unique_ptr<EndpointResponse>> Respond(const JobRows& rows) override;
  std::string Summary() const override { return proto::Count(Items(), "pair"); }
  std::int64_t Items() const override { return static_cast<std::int64_t>(relevance.rows.size()); }
};

}  // namespace scorecast::coordinator

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "coordinator/endpoints/endpoint.h"
#include "proto/base/count.h"

namespace scorecast::coordinator {

/// The readout of a request that is complete once it is prepared, because the ranks have nothing to
/// compute for it.
template <typename Response>
struct CompleteReadout : Readout {
  explicit CompleteReadout(Response complete) : response(std::move(complete)) {}

  proto::Expected<std::unique_ptr<EndpointResponse>> Respond(
      const JobRows& /*rows*/) const override {
    return std::unique_ptr<EndpointResponse>(std::make_unique<Response>(response));
  }
  std::string Summary() const override { return proto::Count(prompt_tokens, "token"); }
  std::int64_t Items() const override { return 0; }

  const Response response;
};

/// A request without anything to compute. `num_tokens` is for the log.
template <typename Response>
PreparedRequest Complete(Response response, std::int64_t num_tokens) {
  auto readout = std::make_shared<CompleteReadout<Response>>(std::move(response));
  readout->prompt_tokens = num_tokens;
  PreparedRequest prepared;
  prepared.readout = std::move(readout);
  return prepared;
}

}  // namespace scorecast::coordinator

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "coordinator/endpoints/endpoint.h"
#include "proto/base/count.h"

namespace scorecast::coordinator {

/// The readout of a request that is complete once it is prepared, because the ranks have nothing to
/// compute for it.
struct CompleteReadout : Readout {
  proto::Expected<std::unique_ptr<EndpointResponse>> Respond(const JobRows& /*rows*/) override {
    return std::move(response);
  }
  std::string Summary() const override { return proto::Count(prompt_tokens, "token"); }
  std::int64_t Items() const override { return 0; }

  std::unique_ptr<EndpointResponse> response;
};

/// A request without anything to compute. `num_tokens` is for the log.
inline PreparedRequest Complete(std::unique_ptr<EndpointResponse> response,
                                std::size_t num_tokens) {
  auto readout = std::make_shared<CompleteReadout>();
  readout->response = std::move(response);
  readout->prompt_tokens = static_cast<std::int64_t>(num_tokens);
  PreparedRequest prepared;
  prepared.readout = std::move(readout);
  return prepared;
}

}  // namespace scorecast::coordinator

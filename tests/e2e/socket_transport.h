#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "proto/scorecast.pb.h"
#include "tests/e2e/scorecast_program.h"

namespace scorecast::testing {

/// A body of /v1/score as a message. Throws std::invalid_argument where no message says the same: a
/// field of another type, an unknown one, no items.
v1::Request ToRequest(std::uint64_t request_id, const nlohmann::json& body);

/// The line that the batch door writes for the same answer; `custom_id` is the request's number.
std::string ToBatchLine(const v1::Response& response);

/// The same of a body of /v1/chunked.
v1::Request ToChunkedRequest(std::uint64_t request_id, const nlohmann::json& body);

v1::Request ToMessage(std::uint64_t request_id, const EndpointRequest& request);

/// Starts a service, sends it all requests at once, each with its place as `request_id`, drains the
/// service when all are answered, and gives the answers in order. `exit_code` is the service's, or
/// 3 where it is 0 and some request was refused, as the batch door's.
BatchRun RunThroughSocket(const BatchCommand& command, const std::vector<EndpointRequest>& requests);

/// The same, but each request is sent when the one before it is answered.
BatchRun RunInTurn(const BatchCommand& command, const std::vector<EndpointRequest>& requests);

}  // namespace scorecast::testing

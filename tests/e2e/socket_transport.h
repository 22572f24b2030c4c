#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "proto/scorecast.pb.h"
#include "tests/e2e/scorecast_program.h"

namespace scorecast::testing {

/// A body of /v1/score as a message. Throws std::invalid_argument if no message can express the
/// body, because it has a field of the wrong type, an unknown field, or no items.
v1::Request ToRequest(std::uint64_t request_id, const nlohmann::json& body);

/// The line that `scorecast batch` writes for this response, with the request_id as `custom_id`.
std::string ToBatchLine(const v1::Response& response);

/// A body of /v1/chunked as a message. Throws std::invalid_argument as ToRequest does.
v1::Request ToChunkedRequest(std::uint64_t request_id, const nlohmann::json& body);

v1::Request ToMessage(std::uint64_t request_id, const EndpointRequest& request);

/// Starts a service, sends all requests at once with their indices as `request_id`, and drains the
/// service when every request has its reply. Returns the replies in the order of the requests.
/// `exit_code` is the service's; if that is 0 and a request was refused, 3 as for `scorecast
/// batch`.
BatchRun RunThroughSocket(const BatchCommand& command,
                          const std::vector<EndpointRequest>& requests);

/// Like RunThroughSocket, but sends each request after the reply to the one before it.
BatchRun RunInTurn(const BatchCommand& command, const std::vector<EndpointRequest>& requests);

}  // namespace scorecast::testing

#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "coordinator/access/api_keys.h"
#include "coordinator/endpoints/endpoint.h"
#include "coordinator/endpoints/endpoint_response.h"
#include "coordinator/transports/connection/connection.h"
#include "coordinator/transports/connection/connection_call.h"
#include "proto/base/expected.h"

namespace scorecast::v1 {
class StreamPosition;
}

namespace scorecast::coordinator {

/// For whom a front passes a request on: what a v1::Forwarded says.
struct ForwardedFor {
  std::string client;
  std::string network;
  Holder holder;  ///< Made from the message; null if the client is no holder of a key.
  std::chrono::microseconds waited;
  std::optional<std::chrono::microseconds> timeout;
  // See EndpointRequest.
  std::optional<std::uint64_t> default_seed;
  std::optional<ResponseIdentity> identity;
  SentPositions sent;
};

/// `bytes` are the message.
proto::Expected<ForwardedFor> ReadForwarded(const std::string& bytes);

/// Makes the call that of the client for whom it is passed on over the connection. What its request
/// becomes and what its reply takes count for that client, so that no client takes the room of a
/// front's others. Called before the call is handled.
void Forward(const ForwardedFor& forwarded, const Connection& connection, ConnectionCall& call);

void ToMessage(const StreamPosition& position, v1::StreamPosition& message);

}  // namespace scorecast::coordinator

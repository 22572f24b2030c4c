#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "coordinator/transports/connection/connection.h"
#include "coordinator/transports/connection/protocol.h"

namespace scorecast::coordinator {

/// Such messages are short: a longer one is a request, whose parsing may take its time.
inline constexpr std::size_t kMaxSessionBytes = std::size_t{4} << 10;

/// What a server tells of itself in a v1::HelloReply, whose fields have the same names.
struct ServerFacts {
  std::string version;
  std::string model;
  std::string kind;
  std::string fingerprint;
  std::string dtype;
  std::string kernel_set;
};

/// The frames that answer a message about the connection or the server itself, which is no request
/// to an endpoint: a v1::Authenticate, which sets the connection's client, a v1::Hello, which may
/// make it a front, a v1::Reload, or a v1::Cancel, behind the errors of the requests that it ends.
/// Nothing if the message is another one.
std::optional<std::string> SessionReply(const std::string& message, Connection& connection,
                                        const ProtocolContext& context, const ServerFacts& facts);

}  // namespace scorecast::coordinator

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "coordinator/transports/connection/connection.h"
#include "coordinator/transports/connection/protocol.h"
#include "proto/base/error.h"
#include "proto/base/expected.h"

namespace scorecast::v1 {
class Drain;
}  // namespace scorecast::v1

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
  std::int64_t max_values = 0;  ///< See MaxValues.
};

/// What a front does with a v1::Drain. Returns how many of its requests the replica has.
using DrainReplica = std::function<proto::Expected<std::size_t>(const v1::Drain&)>;

/// What follows from a message about the connection or the server.
struct SessionReply {
  std::string frames;  ///< The answer.
  /// If set, the front is told the server's state from now on: at once, and as often.
  std::optional<std::chrono::milliseconds> status_interval;
};

/// Why the client of the connection, if it is a front, is none any more: its key was revoked.
std::optional<proto::Error> FrontFault(const Connection& connection,
                                       const ProtocolContext& context);

/// Answers a message about the connection or the server itself, which is no request
/// to an endpoint: a v1::Authenticate, which sets the connection's client, a v1::Hello, which may
/// make it a front, a v1::Reload, a v1::Drain, or a v1::Cancel, behind the errors of the requests
/// that it ends. Nothing if the message is another one. `drain` is empty if the server is no front.
std::optional<SessionReply> AnswerSession(const std::string& message, Connection& connection,
                                          const ProtocolContext& context, const ServerFacts& facts,
                                          const DrainReplica& drain);

}  // namespace scorecast::coordinator

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "proto/scorecast.pb.h"
#include "proto/tls/tls_context.h"

namespace scorecast::launcher {

/// The flags of every command that sends requests to a server.
struct ServerFlags {
  std::string connect;                     ///< HOST:PORT; empty if connect_file is given.
  std::filesystem::path connect_file;      ///< What serve --address-file writes; may be empty.
  std::optional<std::int64_t> timeout_ms;  ///< The request's.
  std::int64_t priority = 0;               ///< The request's.
  std::chrono::milliseconds timeout = std::chrono::minutes(1);  ///< For a reply.
  std::string api_key;                                          ///< Empty: none.
  bool tls = false;
  proto::TlsClientFiles tls_files;
  std::string tls_server_name;  ///< See ClientTls.
};

/// The flags of every command that sends one request.
struct ClientFlags : ServerFlags {
  bool json = false;  ///< Prints the whole response.
};

/// Sends the request of a command and returns the reply. Throws std::runtime_error, with a message
/// of one line, if no reply comes in time.
v1::Response CallServer(const ServerFlags& flags, const v1::Request& request);

/// Sends many requests, up to kCallsAtOnce at a time. `request` makes the one of an index below
/// `count`, on any thread. `on_response` is called with each response, by one thread at a time; if
/// it returns false, no further request is begun. A request that the server refuses because it has
/// too much to do is sent again when the server says. Returns when all requests that were begun
/// have their responses. Throws what CallServer would throw for the first request without a reply.
void CallServerManyTimes(
    const ServerFlags& flags, std::size_t count,
    const std::function<v1::Request(std::size_t index)>& request,
    const std::function<bool(std::size_t index, const v1::Response& response)>& on_response);

inline constexpr std::size_t kCallsAtOnce = 8;

/// Prints the server's error to standard error. Returns the command's exit code.
int PrintRefusal(const v1::Error& error);

/// Throws std::runtime_error if the output cannot be written.
void FlushOutput();

}  // namespace scorecast::launcher

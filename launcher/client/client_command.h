#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "proto/scorecast.pb.h"

namespace scorecast::launcher {

/// The flags of every command that sends one request to a server.
struct ClientFlags {
  std::string connect;                     ///< HOST:PORT; empty if connect_file is given.
  std::filesystem::path connect_file;      ///< What serve --address-file writes; may be empty.
  std::optional<std::int64_t> timeout_ms;  ///< The request's.
  std::int64_t priority = 0;               ///< The request's.
  std::chrono::milliseconds timeout = std::chrono::minutes(1);  ///< For the reply.
  bool json = false;                                            ///< Prints the whole response.
};

/// Sends the request of a command and returns the reply. Throws std::runtime_error, with a message
/// of one line, if no reply comes in time.
v1::Response CallServer(const ClientFlags& flags, const v1::Request& request);

/// Prints the server's error to standard error. Returns the command's exit code.
int PrintRefusal(const v1::Error& error);

/// Throws std::runtime_error if the output cannot be written.
void FlushOutput();

}  // namespace scorecast::launcher

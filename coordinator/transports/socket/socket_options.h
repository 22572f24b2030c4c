#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "coordinator/request/server_options.h"

namespace scorecast::coordinator {

struct SocketOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 7400;  ///< 0: any free one; see RequestServer::port.
  std::size_t max_connections = 16384;
  /// A connection is closed after this time without a byte in or out while none of its requests is
  /// being computed: idle clients, clients that stop in the middle of a frame, and clients that do
  /// not read their replies.
  std::chrono::milliseconds idle_timeout = std::chrono::minutes(10);
  std::int64_t max_request_bytes = kDefaultMaxRequestBytes;  ///< Of a frame's message.
  /// Upper bound on the bytes of all messages that are being read, of at least `max_request_bytes`:
  /// a further piece is refused with a 503. The same bound holds for all replies, of which those to
  /// requests under way count with their upper bound. Beyond it only a client that waits for no
  /// reply may ask for more, and only for a small one; a larger one is refused with a 503, or with
  /// a 413 if it is larger than the whole bound.
  std::int64_t max_held_bytes = std::int64_t{1} << 30;
};

}  // namespace scorecast::coordinator

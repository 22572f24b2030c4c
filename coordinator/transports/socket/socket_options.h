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
  /// A connection is closed after so long without a byte in or out while none of its requests is
  /// being answered: idle clients, half a frame and silence, clients that do not read their
  /// answers.
  std::chrono::milliseconds idle_timeout = std::chrono::minutes(10);
  std::int64_t max_request_bytes = kDefaultMaxRequestBytes;  ///< Of a frame's message.
  /// Of all messages that are being read: one more piece is refused with a 503; no less than
  /// `max_request_bytes` counts. And of all answers: then only who waits for none may ask for
  /// more, and only for a small one; a larger one is refused with a 503, and one that is larger
  /// than all of this with a 413.
  std::int64_t max_held_bytes = std::int64_t{1} << 30;
};

}  // namespace scorecast::coordinator

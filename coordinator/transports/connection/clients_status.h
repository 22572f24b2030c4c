#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace scorecast::coordinator {

/// The clients of a server at one moment, and what they were refused since it started.
struct ClientsStatus {
  /// Includes those that are only being refused, and not those for probes.
  std::size_t connections = 0;
  std::size_t addresses = 0;  ///< Distinct addresses of the served connections.
  std::int64_t requests_in_flight = 0;
  std::int64_t held_request_bytes = 0;  ///< See SocketOptions::max_held_bytes.
  std::int64_t held_reply_bytes = 0;
  /// How many connections and requests were refused, by the `reason` of the error.
  std::map<std::string, std::int64_t> refusals;
};

}  // namespace scorecast::coordinator

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

#include "coordinator/access/api_keys.h"
#include "coordinator/access/trusted_proxies.h"
#include "coordinator/request/server_options.h"

namespace scorecast::coordinator {

/// The limits of all clients of a server, whichever of its sockets they connect to.
struct SocketOptions {
  std::size_t max_connections = 16384;
  /// Of one client address: see CountedAddress. If not set, half of `max_connections`.
  std::optional<std::size_t> max_connections_per_address;
  /// A connection is closed after this time without a byte in or out while none of its requests is
  /// being computed. This ends idle clients and clients that do not read their replies.
  std::chrono::milliseconds idle_timeout = std::chrono::minutes(10);
  /// A request must arrive within this time of its first byte. A large one has a second more for
  /// each 64 KiB of it that have arrived. Otherwise its client gets a 408 and is disconnected.
  std::chrono::milliseconds read_timeout = std::chrono::seconds(30);
  /// A handshake of TLS must end within this time of its turn to begin.
  std::chrono::milliseconds handshake_timeout = std::chrono::seconds(10);
  std::int64_t max_request_bytes = kDefaultMaxRequestBytes;  ///< Largest request.
  /// Upper bound on the bytes of all requests that are being read. It counts as at least
  /// `max_request_bytes`. A request that would exceed it is refused with a 503, but a sixteenth
  /// more is reserved for requests, or their beginnings, of up to kLongBytes. The same bound holds
  /// separately for all replies; the reply to a request under way counts with its upper bound. To
  /// avoid starvation, a client with no reply pending may still send a request with a small reply.
  /// A larger reply beyond the bound is refused with a 503, or with a 413 if it could exceed the
  /// whole bound by itself.
  std::int64_t max_held_bytes = std::int64_t{1} << 30;
  /// The same for each client address: see CountedAddress. A request or a reply that is larger has
  /// room if nothing else of the address is held. A request beyond the bound is not read further
  /// until there is room, or refused with a 503 after `long_patience`; a sixteenth more is reserved
  /// for short ones, as above. A connection is not read further while its address holds this much
  /// of replies, and some of these are its own.
  std::int64_t max_held_bytes_per_address = std::int64_t{64} << 20;
  /// A request of more than kLongBytes, or that is compressed, waits for its turn to be parsed. If
  /// that does not come within this time, it is refused with a 503.
  std::chrono::milliseconds long_patience = std::chrono::seconds(10);
  /// A request is refused with a 429 if it is predicted to wait for longer until it is tokenized.
  double max_wait_seconds = std::numeric_limits<double>::infinity();
  /// Only requests with one of these keys are served; null: all are.
  std::shared_ptr<ApiKeys> keys;
  /// A client of the request socket that shows one of these is a front: see
  /// Connection::BecomeFront. Null: none is.
  std::shared_ptr<ApiKeys> front_keys;
  /// Of clients that connect through one of these, the address is the one that the proxy says. The
  /// proxies themselves have no limit of connections per address.
  TrustedProxies proxies;
};

}  // namespace scorecast::coordinator

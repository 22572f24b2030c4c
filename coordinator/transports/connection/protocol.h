#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "coordinator/access/api_keys.h"
#include "coordinator/access/trusted_proxies.h"
#include "coordinator/service/held_bytes.h"
#include "coordinator/transports/connection/call_handler.h"
#include "coordinator/transports/connection/connection_call.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {

class Connection;

/// What the protocols of all connections of a server share.
struct ProtocolContext {
  CallHandler& handler;
  std::int64_t max_request_bytes;  ///< Upper bound on one request.
  ApiKeys* keys = nullptr;         ///< See SocketOptions; may be null.
  const TrustedProxies& proxies;   ///< See SocketOptions.
  ApiKeys* front_keys = nullptr;   ///< See SocketOptions; may be null.
};

/// How requests and replies look on the wire. One object per connection, which owns it; used only
/// on the connection's executor.
class Protocol {
 public:
  virtual ~Protocol() = default;

  /// Reads one request from the connection's stream, calls Connection::BeginReading at its first
  /// byte, and begins it with Connection::BeginRequest, or skips it. Then calls
  /// Connection::ReadNext, or Connection::CloseNow if the stream failed. Never called while a
  /// previous call is under way. Handlers of reads hold `connection`, which keeps this object
  /// alive.
  virtual void ReadRequest(std::shared_ptr<Connection> connection) = 0;

  /// A reply that reports a fault of the connection itself and not of one request.
  virtual Reply ErrorReply(const proto::Error& error, HeldBytes& replies) const = 0;

  /// How many requests of a client that is no front may be in flight. 1 if replies must come in the
  /// order of the requests.
  virtual std::size_t max_in_flight() const = 0;

  /// Whether ReadRequest is also called while no request may begin. The protocol then calls
  /// Connection::AwaitBegin before it keeps more of a request than a short message has.
  virtual bool reads_ahead() const { return false; }
};

/// Makes the protocol of a new connection. The context outlives it.
using MakeProtocol = std::function<std::unique_ptr<Protocol>(const ProtocolContext&)>;

}  // namespace scorecast::coordinator

#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "coordinator/endpoints/held_bytes.h"
#include "coordinator/endpoints/request_service.h"
#include "coordinator/transports/connection/clients_status.h"
#include "coordinator/transports/connection/connection.h"
#include "coordinator/transports/connection/memory_return.h"
#include "coordinator/transports/connection/protocol.h"
#include "coordinator/transports/connection/request_handler.h"
#include "coordinator/transports/connection/socket_options.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {

/// Listens on an address, accepts clients, and serves them on threads of its own. What they speak
/// is the protocol's matter.
class RequestServer {
 public:
  /// Starts to listen. Throws StartupError if it cannot listen on the address. `service` must
  /// outlive the server.
  RequestServer(RequestService& service, const SocketOptions& options, int io_threads,
                MakeProtocol make_protocol);
  /// Closes the connections, and waits until the service has nothing left to compute. That includes
  /// the requests of other transports, so the service must be draining (see StartDraining), or no
  /// other transport may begin requests any more.
  ~RequestServer();

  RequestServer(const RequestServer&) = delete;
  RequestServer& operator=(const RequestServer&) = delete;

  /// The port it listens on.
  std::uint16_t port() const { return port_; }

  /// First step of a shutdown: no new connections, and the service drains.
  void StartDraining();
  /// Last step: closes each connection as soon as its replies are written, and the remaining ones
  /// after `patience`. Returns when all are closed.
  void CloseConnections(std::chrono::milliseconds patience);

  ClientsStatus status() const;

 private:
  /// How many connections beyond the limit can be refused with a reply at a time. Further ones are
  /// closed without a reply.
  static constexpr std::size_t kMaxRefused = 64;

  void StopAccepting();
  void Accept();
  void Admit(boost::asio::ip::tcp::socket socket, const boost::asio::ip::address& client);
  /// Why a further connection from `client` is not served; nothing if it is. Locked by the caller.
  std::optional<proto::Error> Refusal(const boost::asio::ip::address& client) const;
  /// Called when a connection is closed.
  void Forget(std::uint64_t id, const boost::asio::ip::address& client, bool is_refused);
  std::vector<std::shared_ptr<Connection>> Connections() const;

  RequestService& service_;
  const SocketOptions options_;
  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  HeldBytes requests_;
  RequestHandler handler_;
  MemoryReturn memory_;
  const ProtocolContext protocol_context_;
  const MakeProtocol make_protocol_;
  ConnectionContext context_;
  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::ip::tcp::endpoint accepted_;  ///< The client of the connection accepted last.
  boost::asio::steady_timer accept_again_;
  std::uint16_t port_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable closed_;
  std::unordered_map<std::uint64_t, std::shared_ptr<Connection>> connections_;
  std::size_t refused_ = 0;  ///< How many of `connections_` are only being refused.
  /// How many of the others each client address has; see CountedAddress.
  std::map<boost::asio::ip::address, std::size_t> addresses_;
  bool is_accepting_ = true;
  std::uint64_t next_id_ = 0;

  std::vector<std::thread> threads_;
};

}  // namespace scorecast::coordinator

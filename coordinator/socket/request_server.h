#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "coordinator/socket/connection.h"
#include "coordinator/socket/frame_protocol.h"
#include "coordinator/socket/held_bytes.h"
#include "coordinator/socket/request_handler.h"
#include "coordinator/socket/socket_options.h"

namespace scorecast::coordinator {

/// The request socket: accepts clients and runs them on threads of its own.
class RequestServer {
 public:
  /// Listens from here on. StartupError where the address cannot be had. The services
  /// outlive it.
  RequestServer(const Services& services, const SocketOptions& options, int io_threads);
  /// Closes what is open, and waits until the services have nothing left to compute.
  ~RequestServer();

  RequestServer(const RequestServer&) = delete;
  RequestServer& operator=(const RequestServer&) = delete;

  /// Where it listens.
  std::uint16_t port() const { return port_; }

  /// First step of a shutdown: no new connections; new requests get a 503.
  void StartDraining();
  /// Last step: closes each connection as soon as its answers are written, and what is left of them
  /// after `patience`. Returns when all are closed.
  void CloseConnections(std::chrono::milliseconds patience);

  std::size_t connections() const;

 private:
  /// Connections beyond the limit that may be told so at a time.
  static constexpr std::size_t kMaxRefused = 64;

  void Accept();
  void Admit(boost::asio::ip::tcp::socket socket);
  std::vector<std::shared_ptr<Connection>> Connections() const;

  const SocketOptions options_;
  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  HeldBytes messages_;
  RequestHandler handler_;
  FrameContext frames_;
  ConnectionContext context_;
  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::steady_timer accept_again_;
  std::uint16_t port_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable closed_;
  std::unordered_map<std::uint64_t, std::shared_ptr<Connection>> connections_;
  std::size_t refused_ = 0;  ///< Of them, those that are only being told so.
  std::uint64_t next_id_ = 0;

  std::vector<std::thread> threads_;
};

}  // namespace scorecast::coordinator

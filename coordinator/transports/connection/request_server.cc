#include "coordinator/transports/connection/request_server.h"

#include <algorithm>
#include <string>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include "coordinator/transports/connection/listening_socket.h"
#include "coordinator/transports/connection/tcp_stream.h"

namespace scorecast::coordinator {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

/// Pause after an accept that failed, for example because no file descriptor was left.
constexpr auto kAcceptPause = std::chrono::milliseconds(100);

/// The protocol of a socket: IPv4 or IPv6.
tcp ProtocolOf(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  return address.ss_family == AF_INET6 ? tcp::v6() : tcp::v4();
}

}  // namespace

RequestServer::RequestServer(RequestService& service, const SocketOptions& options, int io_threads,
                             MakeProtocol make_protocol)
    : service_(service),
      options_(options),
      work_(io_.get_executor()),
      requests_(std::max(options.max_held_bytes, options.max_request_bytes)),
      handler_(service, io_.get_executor(), requests_, options.max_held_bytes, io_threads),
      protocol_context_{handler_, requests_, options.max_request_bytes},
      make_protocol_(std::move(make_protocol)),
      context_{options.idle_timeout, handler_.replies(),
               [this](const std::vector<RequestService::Request>& left) { service_.Cancel(left); }},
      acceptor_(asio::make_strand(io_)),
      accept_again_(acceptor_.get_executor()) {
  const int listening = options_.listening_socket >= 0
                            ? options_.listening_socket
                            : OpenListeningSocket(options_.host, options_.port);
  acceptor_.assign(ProtocolOf(listening), listening);
  port_ = acceptor_.local_endpoint().port();
  Accept();
  for (int i = 0; i < io_threads; ++i) {
    threads_.emplace_back([this] { io_.run(); });
  }
}

RequestServer::~RequestServer() {
  StopAccepting();
  CloseConnections(std::chrono::milliseconds(0));
  handler_.Finish();
  work_.reset();
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

void RequestServer::Accept() {
  // Each connection works on a strand of its own, on whichever thread is free.
  acceptor_.async_accept(asio::make_strand(io_), [this](error_code error, tcp::socket socket) {
    if (error == asio::error::operation_aborted || !acceptor_.is_open()) {
      return;
    }
    if (!error) {
      Admit(std::move(socket));
      Accept();
      return;
    }
    spdlog::warn("cannot accept a connection: {}", error.message());
    accept_again_.expires_after(kAcceptPause);
    accept_again_.async_wait([this](error_code cancelled) {
      if (!cancelled && acceptor_.is_open()) {
        Accept();
      }
    });
  });
}

void RequestServer::Admit(tcp::socket socket) {
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  std::shared_ptr<Connection> connection;
  bool is_one_too_many = false;
  {
    const std::lock_guard lock(mutex_);
    if (!is_accepting_) {
      return;  // CloseConnections may already have closed the others.
    }
    is_one_too_many = connections_.size() - refused_ >= options_.max_connections;
    if (is_one_too_many && refused_ == kMaxRefused) {
      return;  // The socket is closed without a reply.
    }
    refused_ += is_one_too_many ? 1 : 0;
    const std::uint64_t id = next_id_++;
    connection = std::make_shared<Connection>(id, std::make_unique<TcpStream>(std::move(socket)),
                                              make_protocol_(protocol_context_), context_,
                                              [this, is_one_too_many](std::uint64_t closed_id) {
                                                const std::lock_guard closing(mutex_);
                                                connections_.erase(closed_id);
                                                refused_ -= is_one_too_many ? 1 : 0;
                                                closed_.notify_all();
                                              });
    connections_.emplace(id, connection);
  }
  if (is_one_too_many) {
    connection->Refuse(
        {503, "too_many_connections",
         "Too many connections: more than " + std::to_string(options_.max_connections) + ".", ""});
  } else {
    connection->Start();
  }
}

void RequestServer::StartDraining() {
  service_.StartDraining();
  StopAccepting();
}

void RequestServer::StopAccepting() {
  {
    const std::lock_guard lock(mutex_);
    is_accepting_ = false;
  }
  asio::post(acceptor_.get_executor(), [this] {
    error_code ignored;
    acceptor_.close(ignored);
    accept_again_.cancel();
  });
}

void RequestServer::CloseConnections(std::chrono::milliseconds patience) {
  for (const auto& connection : Connections()) {
    connection->CloseWhenDone();
  }
  std::unique_lock lock(mutex_);
  const auto all_closed = [this] { return connections_.empty(); };
  if (closed_.wait_for(lock, patience, all_closed)) {
    return;
  }
  lock.unlock();
  for (const auto& connection : Connections()) {
    connection->Close();
  }
  lock.lock();
  closed_.wait(lock, all_closed);
}

std::vector<std::shared_ptr<Connection>> RequestServer::Connections() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Connection>> connections;
  connections.reserve(connections_.size());
  for (const auto& [id, connection] : connections_) {
    connections.push_back(connection);
  }
  return connections;
}

std::size_t RequestServer::connections() const {
  const std::lock_guard lock(mutex_);
  return connections_.size();
}

}  // namespace scorecast::coordinator

#include "coordinator/transports/connection/listening_socket.h"

#include <cerrno>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proto/base/error.h"

namespace scorecast::coordinator {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

tcp::endpoint Resolve(asio::io_context& io, const std::string& host, std::uint16_t port) {
  tcp::resolver resolver(io);
  error_code error;
  const auto results = resolver.resolve(
      host, std::to_string(port), tcp::resolver::passive | tcp::resolver::numeric_service, error);
  if (error || results.empty()) {
    throw proto::StartupError("--host " + host + ": " + error.message());
  }
  return *results.begin();
}

[[noreturn]] void ThrowCannotListen(const std::string& host, std::uint16_t port,
                                    const error_code& error) {
  throw proto::StartupError("cannot listen on " + host + ":" + std::to_string(port) + ": " +
                            error.message());
}

tcp::endpoint AddressOf(int descriptor) {
  tcp::endpoint endpoint;
  auto size = static_cast<socklen_t>(endpoint.capacity());
  return getsockname(descriptor, endpoint.data(), &size) == 0 ? endpoint : tcp::endpoint();
}

}  // namespace

int OpenBoundSocket(const std::string& host, std::uint16_t port) {
  asio::io_context io;
  tcp::acceptor acceptor(io);
  const tcp::endpoint endpoint = Resolve(io, host, port);
  error_code error;
  acceptor.open(endpoint.protocol(), error);
  if (!error) {
    acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  }
  if (!error) {
    acceptor.bind(endpoint, error);
  }
  if (error) {
    ThrowCannotListen(host, port, error);
  }
  const int descriptor = acceptor.release();
  fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  return descriptor;
}

void Listen(int bound_socket) {
  if (listen(bound_socket, asio::socket_base::max_listen_connections) != 0) {
    const error_code error(errno, boost::system::system_category());
    const tcp::endpoint endpoint = AddressOf(bound_socket);
    ThrowCannotListen(endpoint.address().to_string(), endpoint.port(), error);
  }
}

int OpenListeningSocket(const std::string& host, std::uint16_t port) {
  const int descriptor = OpenBoundSocket(host, port);
  try {
    Listen(descriptor);
  } catch (...) {
    close(descriptor);
    throw;
  }
  return descriptor;
}

bool IsListeningSocket(int descriptor) {
  int listens = 0;
  int protocol = 0;
  socklen_t size = sizeof(int);
  return getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens != 0 &&
         getsockopt(descriptor, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) == 0 &&
         protocol == IPPROTO_TCP;
}

std::string ListeningHost(int descriptor) { return AddressOf(descriptor).address().to_string(); }

}  // namespace scorecast::coordinator

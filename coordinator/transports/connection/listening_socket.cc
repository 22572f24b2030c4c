#include "coordinator/transports/connection/listening_socket.h"

#include <cerrno>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "coordinator/transports/connection/client_address.h"
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

/// SO_REUSEADDR has two meanings on Linux. A port can be bound although connections of a process
/// that has ended linger there (TIME_WAIT), but only if those connections had the option, too. And
/// two sockets that have it can both be bound to a port, until one of them listens.
void SetReuseAddress(int descriptor, bool value) {
  const int number = value ? 1 : 0;
  setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &number, sizeof(number));
}

/// Binds the socket so that no other socket can be bound to the address.
error_code BindAlone(tcp::acceptor& acceptor, const tcp::endpoint& endpoint) {
  error_code error;
  acceptor.bind(endpoint, error);
  if (error == asio::error::address_in_use) {
    // Perhaps only connections linger. Without the option the kernel still refuses others.
    SetReuseAddress(acceptor.native_handle(), true);
    acceptor.bind(endpoint, error);
    SetReuseAddress(acceptor.native_handle(), false);
  }
  return error;
}

}  // namespace

int OpenBoundSocket(const std::string& host, std::uint16_t port) {
  asio::io_context io;
  tcp::acceptor acceptor(io);
  const tcp::endpoint endpoint = Resolve(io, host, port);
  error_code error;
  acceptor.open(endpoint.protocol(), error);
  if (!error) {
    error = BindAlone(acceptor, endpoint);
  }
  if (error) {
    ThrowCannotListen(host, port, error);
  }
  const int descriptor = acceptor.release();
  fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  return descriptor;
}

void Listen(int bound_socket) {
  if (IsListeningSocket(bound_socket)) {
    return;
  }
  // The connections inherit it, so that they do not keep the next server from the port.
  SetReuseAddress(bound_socket, true);
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

std::string BoundHost(int descriptor) { return AddressOf(descriptor).address().to_string(); }

std::uint16_t BoundPort(int descriptor) { return AddressOf(descriptor).port(); }

bool IsOnLoopback(int descriptor) {
  return Unmapped(AddressOf(descriptor).address()).is_loopback();
}

}  // namespace scorecast::coordinator

#include "coordinator/transports/connection/tcp_stream.h"

#include <chrono>
#include <utility>

#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

namespace scorecast::coordinator {

TcpStream::TcpStream(Socket socket) : socket_(std::move(socket)) {}

bool TcpStream::HasUnread() {
  error_code ignored;
  return socket_.available(ignored) > 0;
}

std::optional<Clock::duration> TcpStream::SinceArrival() {
  tcp_info info{};
  socklen_t size = sizeof(info);
  if (getsockopt(socket_.native_handle(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0) {
    return std::nullopt;
  }
  return std::chrono::milliseconds(info.tcpi_last_data_recv);
}

bool TcpStream::HasHungUp() {
  pollfd descriptor = {.fd = socket_.native_handle(), .events = POLLRDHUP, .revents = 0};
  return poll(&descriptor, 1, 0) > 0;
}

void TcpStream::ShutDownSend() {
  error_code ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
}

void TcpStream::Close() {
  error_code ignored;
  socket_.shutdown(Socket::shutdown_both, ignored);
  socket_.close(ignored);
}

void TcpStream::ReadSome(boost::asio::mutable_buffer into, Done done) {
  socket_.async_read_some(into, std::move(done));
}

void TcpStream::WriteSome(boost::asio::const_buffer from, Done done) {
  socket_.async_write_some(from, std::move(done));
}

}  // namespace scorecast::coordinator

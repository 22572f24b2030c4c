#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "proto/scorecast.pb.h"

namespace scorecast::launcher {

/// A connection to a server's request socket. Calls block. One thread may send while another
/// receives. If the connection fails, calls throw std::runtime_error with a message of one line.
class Client {
 public:
  /// `address`: HOST:PORT; HOST may be an IPv6 address in brackets.
  explicit Client(const std::string& address);

  void Send(const v1::Request& request);
  /// Returns the next reply, to any of the requests in flight.
  v1::Response Receive();
  /// Sends a request and returns its reply. No other request may be in flight.
  v1::Response Call(const v1::Request& request);

  boost::asio::ip::tcp::socket& socket() { return socket_; }

 private:
  boost::asio::io_context io_;
  boost::asio::ip::tcp::socket socket_;
};

}  // namespace scorecast::launcher

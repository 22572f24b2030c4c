#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "proto/base/host_port.h"
#include "proto/scorecast.pb.h"
#include "proto/tls/client_tls.h"
#include "proto/tls/tls_session.h"

namespace scorecast::launcher {

struct ClientOptions {
  /// Limits the time to connect, and the time of each Send and Receive. If unset, they wait for any
  /// time.
  std::optional<std::chrono::milliseconds> timeout;
  /// If set, no call waits beyond this time.
  std::optional<std::chrono::steady_clock::time_point> deadline;
  /// A longer reply is not read. The default is the most that a server keeps of replies.
  std::size_t max_reply_bytes = std::size_t{1} << 30;
  /// If unset, the connection is plain TCP.
  std::optional<proto::ClientTls> tls = std::nullopt;
  /// Is shown to the server when the client connects; empty: none.
  std::string api_key = {};
};

/// The connection was refused, or it ended before the reply. The server may be about to start
/// again.
class ConnectionLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The server took longer than the options allow.
class TimedOut : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A connection to a server's request socket. Calls block. One thread may send while another
/// receives. If the connection fails, calls throw std::runtime_error with a message of one line;
/// the connection is then of no further use.
class Client {
 public:
  /// `address`: HOST:PORT; HOST may be an IPv6 address in brackets. Throws if the server does not
  /// accept the key.
  explicit Client(const std::string& address, const ClientOptions& options = {});

  void Send(const v1::Request& request);
  /// Returns the next reply. It may belong to any of the requests in flight.
  v1::Response Receive();
  /// Sends a request and returns its reply. No other request may be in flight.
  v1::Response Call(const v1::Request& request);

  boost::asio::ip::tcp::socket& socket() { return socket_; }

 private:
  using Deadline = std::optional<std::chrono::steady_clock::time_point>;

  /// The time by which a call that begins now must have ended.
  Deadline CallDeadline() const;
  void Connect(const std::string& address, const proto::HostPort& target);
  /// Begins TLS. `host` is that of the address.
  void BeginTls(const std::string& address, const std::string& host);
  /// Makes the attempt, which is a call of `session_`, until it succeeds or fails.
  template <typename Attempt>
  proto::TlsSession::Result Repeat(Attempt attempt, const Deadline& deadline);
  void Authenticate();
  void Write(std::span<const char> bytes, const Deadline& deadline);
  void Read(std::span<char> bytes, const Deadline& deadline);
  /// Waits until the socket is ready for `events` of poll(2). Throws if the deadline passes.
  void Await(short events, const Deadline& deadline);

  const ClientOptions options_;
  boost::asio::io_context io_;
  boost::asio::ip::tcp::socket socket_;
  std::mutex session_mutex_;  ///< Not locked while a thread waits.
  std::optional<proto::TlsSession> session_;
};

}  // namespace scorecast::launcher

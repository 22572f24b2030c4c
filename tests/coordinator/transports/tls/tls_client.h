#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>

#include "coordinator/transports/connection/request_server.h"
#include "coordinator/transports/connection/tls_files.h"
#include "tests/coordinator/transports/socket/fake_socket_server.h"
#include "tests/coordinator/transports/tls/certificates.h"

namespace scorecast::coordinator {

/// HTTP over TLS by Asio's own stream, which shares no code with the server. Calls block; failures
/// are exceptions of Asio.
class TlsClient {
 public:
  struct Options {
    std::string ca;
    std::string certificate = {};
    std::string key = {};
    /// Changes the context before the connection is made.
    std::function<void(SSL_CTX* context)> adapt = {};
    std::string own_address = "127.0.0.1";
  };

  TlsClient(std::uint16_t port, const Options& options);

  /// The status and the body of the reply.
  std::pair<int, std::string> Call(const std::string& bytes);
  /// The protocol that ALPN chose; empty if none.
  std::string Protocol();
  const char* Version() { return SSL_get_version(stream_.native_handle()); }
  /// Whether the server lets the session be resumed. With TLS 1.3 it says so beside its first
  /// reply.
  bool IsResumable() {
    return SSL_SESSION_is_resumable(SSL_get_session(stream_.native_handle())) == 1;
  }
  /// The name of the server's certificate.
  std::string ServerName();

 private:
  boost::asio::io_context io_;
  boost::asio::ssl::context context_{boost::asio::ssl::context::tls_client};
  boost::asio::ssl::stream<boost::asio::ip::tcp::socket> stream_;
  boost::beast::flat_buffer buffer_;
};

/// The name of a protocol as ALPN has it, behind its length.
void OfferProtocols(SSL_CTX* context, const std::string& list);

/// The ports of a server's HTTP and of its request socket over TLS.
struct TlsPorts {
  static constexpr std::size_t kLongBytes = 5'000'000;  ///< What GET /long returns.

  TlsPorts(FakeSocketServer& server, std::shared_ptr<const TlsFiles> files);

  std::uint16_t http;
  std::uint16_t frames;
};

}  // namespace scorecast::coordinator

#pragma once

#include <string>

#include "coordinator/transports/connection/tcp_stream.h"
#include "proto/tls/tls_session.h"

namespace scorecast::coordinator {

/// TLS over TCP, after the handshake: see TlsHandshake. An idle stream keeps no buffers.
class TlsStream : public TcpStream {
 public:
  /// `session` is that of the socket.
  TlsStream(Socket socket, proto::TlsSession session);

  bool HasUnread() override;
  void ShutDownSend() override;
  std::string peer_name() const override { return session_.peer_name(); }

 protected:
  void ReadSome(boost::asio::mutable_buffer into, Done done) override;
  void WriteSome(boost::asio::const_buffer from, Done done) override;

 private:
  /// Upper bound on the bytes of a write, as for plain TCP.
  static constexpr std::size_t kMaxWriteBytes = std::size_t{64} << 10;

  proto::TlsSession::Result Write(boost::asio::const_buffer from);
  /// Makes the attempt of a read or write, and again whenever the socket lets it go on. Then passes
  /// on its result.
  template <typename Attempt>
  void Try(Attempt attempt, Done done, bool is_inside_call);

  proto::TlsSession session_;
};

}  // namespace scorecast::coordinator

#pragma once

#include <optional>

#include <boost/asio/ip/tcp.hpp>

#include "coordinator/transports/connection/byte_stream.h"

namespace scorecast::coordinator {

/// Plain TCP.
class TcpStream : public ByteStream {
 public:
  using Socket = boost::asio::ip::tcp::socket;

  /// The socket's executor runs one handler at a time.
  explicit TcpStream(Socket socket);

  executor_type get_executor() override { return socket_.get_executor(); }
  bool HasUnread() override;
  std::optional<Clock::duration> SinceArrival() override;
  bool HasHungUp() override;
  void ShutDownSend() override;
  void Close() override;

 protected:
  void ReadSome(boost::asio::mutable_buffer into, Done done) override;
  void WriteSome(boost::asio::const_buffer from, Done done) override;

  Socket& socket() { return socket_; }

 private:
  Socket socket_;
};

}  // namespace scorecast::coordinator

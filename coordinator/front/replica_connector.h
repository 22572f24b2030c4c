#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "coordinator/transports/connection/byte_stream.h"
#include "proto/tls/client_tls.h"
#include "proto/tls/tls_session.h"

namespace scorecast::coordinator {

/// One attempt to connect to a replica: the look-up of its name, TCP, and TLS if that is asked for.
/// Used only on its executor, which runs one handler at a time.
class ReplicaConnector : public std::enable_shared_from_this<ReplicaConnector> {
 public:
  /// The stream, or null and why there is none.
  using Done = std::function<void(std::unique_ptr<ByteStream> stream, const std::string& fault)>;

  ReplicaConnector(const boost::asio::any_io_executor& executor,
                   std::optional<proto::ClientTls> tls);

  /// `address`: HOST:PORT. `done` is called once, never from inside the call, unless Cancel was
  /// called before. Called once.
  void Start(const std::string& address, std::chrono::milliseconds timeout, Done done);
  /// `done` is not called any more.
  void Cancel();

 private:
  void Connect(const boost::asio::ip::tcp::resolver::results_type& found);
  void OnConnected();
  void Shake();
  void Fail(const std::string& fault);
  /// Ends what goes on. Returns `done`, which is empty if it was called.
  Done End();

  boost::asio::ip::tcp::resolver resolver_;
  boost::asio::ip::tcp::socket socket_;
  boost::asio::steady_timer timer_;
  const std::optional<proto::ClientTls> tls_;
  std::string host_;
  std::optional<proto::TlsSession> session_;
  Done done_;  ///< Empty when it has ended.
};

}  // namespace scorecast::coordinator

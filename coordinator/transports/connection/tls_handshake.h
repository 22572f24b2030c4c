#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "coordinator/schedule/client_id.h"
#include "coordinator/transports/connection/fair_pool.h"
#include "proto/tls/tls_context.h"
#include "proto/tls/tls_session.h"

namespace scorecast::coordinator {

/// The beginning of a server's TLS connection. What OpenSSL computes for it is work of a FairPool,
/// at which clients take turns. All else is done on the socket's executor, which runs one handler
/// at a time.
class TlsHandshake : public std::enable_shared_from_this<TlsHandshake> {
 public:
  using Socket = boost::asio::ip::tcp::socket;

  /// How it ended, with the socket.
  struct Outcome {
    Socket socket;
    std::optional<proto::TlsSession> session;  ///< Set if it succeeded.
    bool is_plain = false;  ///< The client's first byte, which is still unread, is not of TLS.
    std::string fault;      ///< Why it failed otherwise; empty if the client closed the connection.
  };
  using Done = std::function<void(Outcome)>;

  /// `protocols` are those of ALPN. `done` is called once, on the executor.
  TlsHandshake(Socket socket, ClientId client, std::vector<std::string> protocols, FairPool& pool,
               Done done);

  // Called on any thread. Start is called at most once.

  /// It fails if it takes longer than `timeout`.
  void Start(proto::TlsContext context, std::chrono::milliseconds timeout);
  /// Ends it as failed, unless it has ended.
  void Cancel(std::string fault);

 private:
  void WaitFor(Socket::wait_type what);
  /// Looks at the first byte.
  void Begin();
  void Compute();
  void OnComputed(proto::TlsSession::State state);
  void Fail(std::string fault);
  /// Fails when the client has read why, and has closed its side, or a second later. To close a
  /// socket with unread bytes in it would reset the connection, and drop the alert on its way.
  void FailAfterAlert(const std::string& fault);
  void Discard();
  void End(Outcome outcome);

  Socket socket_;
  const ClientId client_;
  const std::vector<std::string> protocols_;
  FairPool& pool_;
  Done done_;  ///< Empty when it has ended.
  boost::asio::steady_timer timer_;
  std::optional<proto::TlsContext> context_;
  std::optional<proto::TlsSession> session_;  ///< Used by the pool while `is_computing_`.
  bool is_computing_ = false;
  std::optional<std::string> fault_;  ///< Set if it is to fail when the pool is done with it.
  bool has_alerted_ = false;          ///< See FailAfterAlert.
};

}  // namespace scorecast::coordinator

#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "coordinator/service/held_bytes.h"
#include "coordinator/transports/connection/address_bytes.h"
#include "coordinator/transports/connection/call_handler.h"
#include "coordinator/transports/connection/clients_status.h"
#include "coordinator/transports/connection/connection.h"
#include "coordinator/transports/connection/io_turns.h"
#include "coordinator/transports/connection/memory_return.h"
#include "coordinator/transports/connection/protocol.h"
#include "coordinator/transports/connection/proxy_greetings.h"
#include "coordinator/transports/connection/socket_options.h"
#include "coordinator/transports/connection/tls_files.h"
#include "coordinator/transports/connection/tls_handshake.h"
#include "coordinator/transports/connection/tls_handshakes.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {

class RequestService;

/// How clients of one listening socket are taken.
struct ListenOptions {
  /// Whether clients that come while the service drains are accepted, so that they read its state
  /// or are told to turn to another service. Otherwise they are refused, or wait if another process
  /// holds the socket, too.
  bool accepts_while_draining = false;
  /// Set if clients speak TLS. A client whose certificate is verified is known by its name instead
  /// of its address, but for the limits of connections.
  std::shared_ptr<const TlsFiles> tls = nullptr;
  std::vector<std::string> protocols = {};  ///< Names of ALPN; see TlsSession::OfServer.
};

/// Accepts the clients of any number of listening sockets, and serves them on threads of its own.
/// What the clients of a socket speak is its protocol's matter. The limits and counts are those of
/// all sockets together.
class RequestServer {
 public:
  /// Makes the handler of a server's calls. `executor` runs on the server's threads, one handler at
  /// a time and in order, with a share beside that of all clients. It outlives the handler.
  using MakeHandler =
      std::function<std::unique_ptr<CallHandler>(const boost::asio::any_io_executor& executor)>;

  RequestServer(const MakeHandler& make_handler, const SocketOptions& options, int io_threads);
  /// The handler is a RequestHandler. `service` must outlive the server.
  RequestServer(RequestService& service, const SocketOptions& options, int io_threads);
  /// Closes the connections, which cancels their requests. Does not wait for a pass that computes
  /// them.
  ~RequestServer();

  RequestServer(const RequestServer&) = delete;
  RequestServer& operator=(const RequestServer&) = delete;

  /// Accepts the clients of a socket that listens (see OpenListeningSocket), which the server then
  /// owns. Returns its port. Called before StartDraining.
  std::uint16_t Listen(int listening_socket, MakeProtocol make_protocol,
                       const ListenOptions& options = {}) {
    return Listen(listening_socket, std::move(make_protocol), options, /*is_for_probes=*/false);
  }
  /// The same for clients that ask for the state of the service. Their connections count in no
  /// limit of SocketOptions, and their turns do not wait for those of all others. They have limits
  /// of their own, beyond which a connection is closed without a reply.
  std::uint16_t ListenForProbes(int listening_socket, MakeProtocol make_protocol,
                                const ListenOptions& options = {}) {
    return Listen(listening_socket, std::move(make_protocol), options, /*is_for_probes=*/true);
  }

  /// First step of a shutdown: the service drains. There are no new connections but those of
  /// ListenOptions::accepts_while_draining.
  void StartDraining();
  /// Last step: no new connections. Closes each connection as soon as its replies are written, and
  /// the remaining ones after `patience`. Returns when all are closed.
  void CloseConnections(std::chrono::milliseconds patience);

  ClientsStatus status() const;

 private:
  /// How many connections beyond the limit can be refused with a reply at a time. Further ones are
  /// closed without a reply.
  static constexpr std::size_t kMaxRefused = 64;
  /// How many connections for probes there may be, and of one address.
  static constexpr std::size_t kMaxProbes = 64;
  static constexpr std::size_t kMaxProbesOfAddress = 16;
  /// Upper bound on the idle timeout of a connection for probes.
  static constexpr auto kProbeIdleTimeout = std::chrono::seconds(30);

  /// What a connection is for.
  enum class Purpose { kService, kRefusal, kProbe };

  struct Listener;

  /// A connection that was accepted.
  struct Admitted {
    boost::asio::ip::address address;               ///< See CountedAddress.
    std::optional<boost::asio::ip::address> proxy;  ///< If it is a trusted one: its own address.
    const Listener* listener = nullptr;
    Purpose purpose = Purpose::kService;
    std::optional<proto::Error> refusal;
    std::uint64_t id = 0;
  };

  /// A socket that listens. Used on the acceptor's executor, which takes turns with the clients.
  struct Listener {
    Listener(boost::asio::any_io_executor executor, MakeProtocol made_by,
             const ListenOptions& listen_options, bool probes);

    const MakeProtocol make_protocol;
    const ListenOptions options;
    const bool is_for_probes;
    bool is_accepting = true;  ///< Used with `mutex_` locked.
    boost::asio::ip::tcp::acceptor acceptor;
    boost::asio::ip::tcp::endpoint accepted;  ///< The client of the connection accepted last.
    boost::asio::steady_timer accept_again;
  };

  std::uint16_t Listen(int listening_socket, MakeProtocol make_protocol,
                       const ListenOptions& options, bool is_for_probes);
  /// `for_drain`: of the listeners that do not accept while the service drains.
  void StopAccepting(bool for_drain);
  void Accept(Listener& listener);
  /// Serves a client, whose address is `peer`.
  void Admit(boost::asio::ip::tcp::socket socket, const boost::asio::ip::address& peer,
             const Listener& listener);
  /// The order of turns of a connection.
  boost::asio::any_io_executor ExecutorFor(const ClientId& client, const Listener& listener);
  /// Called when a client's bytes can be read: begins its connection.
  void Open(const Admitted& admitted, const ClientId& client, std::unique_ptr<ByteStream> stream);
  void OnHandshake(Admitted admitted, TlsHandshake::Outcome outcome);
  /// Whether the limit of connections is reached, of which sockets of proxies are a part before
  /// their first bytes. Locked by the caller.
  bool IsFull() const;
  /// Whether there is room to wait for the first bytes of a proxy. If not, the client is refused.
  bool MayAwait(const Listener& listener) const;
  /// Whether there is no room for a further connection for probes. Locked by the caller.
  bool HasTooManyProbes(const boost::asio::ip::address& client) const;
  /// Why a further connection from `client` is not served; nothing if it is. A trusted proxy has no
  /// limit of its own. Locked by the caller.
  std::optional<proto::Error> Refusal(const boost::asio::ip::address& client, bool is_proxy) const;
  /// Called when a connection is closed, or does not begin.
  void Forget(const Admitted& admitted);
  std::vector<std::shared_ptr<Connection>> Connections() const;

  const SocketOptions options_;
  boost::asio::io_context io_;
  IoTurns turns_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  HeldBytes requests_;
  const std::unique_ptr<CallHandler> handler_;
  ProxyGreetings greetings_;
  AddressBook address_book_;  ///< Used with `mutex_` locked.
  MemoryReturn memory_;
  const ProtocolContext protocol_context_;
  ConnectionContext context_;
  ConnectionContext probe_context_;

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::condition_variable closed_;
  std::unordered_map<std::uint64_t, std::shared_ptr<Connection>> connections_;
  std::size_t opening_ = 0;  ///< How many more were accepted and are not open yet.
  std::size_t refused_ = 0;  ///< How many of both are only being refused.
  std::multiset<boost::asio::ip::address> probes_;  ///< The clients of those for probes.
  /// How many of the others each client address has; see CountedAddress.
  std::map<boost::asio::ip::address, std::size_t> addresses_;
  std::uint64_t next_id_ = 0;
  bool is_closing_ = false;  ///< No further connection opens.

  TlsHandshakes handshakes_;
  std::vector<std::thread> threads_;
};

}  // namespace scorecast::coordinator

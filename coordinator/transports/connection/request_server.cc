#include "coordinator/transports/connection/request_server.h"

#include <algorithm>
#include <string>
#include <utility>

#include <boost/asio/post.hpp>
#include <sys/socket.h>

#include "coordinator/transports/connection/client_address.h"
#include "coordinator/transports/connection/request_handler.h"
#include "coordinator/transports/connection/tcp_stream.h"
#include "coordinator/transports/connection/tls_stream.h"
#include "coordinator/transports/connection/turn_executor.h"
#include "proto/log/log.h"

namespace scorecast::coordinator {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

/// Pause after an accept that failed, for example because no file descriptor was left.
constexpr auto kAcceptPause = std::chrono::milliseconds(100);

/// This part of SocketOptions::max_held_bytes is held for short requests beyond it.
constexpr std::int64_t kReservedPart = 16;

/// The protocol of a socket: IPv4 or IPv6.
tcp ProtocolOf(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  return address.ss_family == AF_INET6 ? tcp::v6() : tcp::v4();
}

/// The socket on another executor: which one is known only when the client is.
tcp::socket Moved(tcp::socket from, const asio::any_io_executor& executor) {
  tcp::socket to(executor);
  error_code error;
  const int descriptor = from.release(error);
  if (!error) {
    to.assign(ProtocolOf(descriptor), descriptor, error);
  }
  return to;  // Not open if this failed. Its first read then ends the connection.
}

}  // namespace

RequestServer::Listener::Listener(asio::any_io_executor executor, MakeProtocol made_by,
                                  const ListenOptions& listen_options, bool probes)
    : make_protocol(std::move(made_by)),
      options(listen_options),
      is_for_probes(probes),
      acceptor(std::move(executor)),
      accept_again(acceptor.get_executor()) {}

RequestServer::RequestServer(RequestService& service, const SocketOptions& options, int io_threads)
    : RequestServer(
          [&](const asio::any_io_executor& /*executor*/) {
            return std::make_unique<RequestHandler>(service, options, io_threads);
          },
          options, io_threads) {}

RequestServer::RequestServer(const MakeHandler& make_handler, const SocketOptions& options,
                             int io_threads)
    : options_(options),
      turns_(io_, io_threads),
      work_(io_.get_executor()),
      requests_(std::max(options.max_held_bytes, options.max_request_bytes), /*all=*/nullptr,
                options.max_held_bytes / kReservedPart),
      handler_(make_handler(turns_.ForServer())),
      greetings_(turns_.ForServer()),
      address_book_(options.max_held_bytes_per_address, requests_, handler_->replies()),
      memory_(io_.get_executor()),
      protocol_context_{*handler_, options.max_request_bytes, options_.keys.get(), options_.proxies,
                        options_.front_keys.get()},
      context_{options.idle_timeout,
               options.read_timeout,
               options.long_patience,
               handler_->counters(),
               memory_,
               [this](const std::vector<std::shared_ptr<Call>>& left) { handler_->Cancel(left); },
               [this](Clock::duration wait) { handler_->NoteIoWait(wait); },
               [this](const ClientId& client, const Holder& holder, const proto::Error& error) {
                 handler_->CountRefusal(/*endpoint=*/nullptr, client, holder, error);
               },
               [this](const ClientName& address) {
                 const std::lock_guard lock(mutex_);
                 return address_book_.Of(address);
               },
               [this] { return AddressBook::OfAll(requests_, handler_->replies()); }},
      probe_context_(context_),
      handshakes_(io_threads, options.handshake_timeout) {
  probe_context_.idle_timeout =
      std::min<std::chrono::milliseconds>(options.idle_timeout, kProbeIdleTimeout);
  for (int i = 0; i < io_threads; ++i) {
    threads_.emplace_back([this] { io_.run(); });
  }
}

RequestServer::~RequestServer() {
  CloseConnections(std::chrono::milliseconds(0));
  handler_->Finish();
  memory_.Stop();
  work_.reset();
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

std::uint16_t RequestServer::Listen(int listening_socket, MakeProtocol make_protocol,
                                    const ListenOptions& options, bool is_for_probes) {
  auto listener = std::make_unique<Listener>(turns_.ForServer(), std::move(make_protocol), options,
                                             is_for_probes);
  listener->acceptor.assign(ProtocolOf(listening_socket), listening_socket);
  const std::uint16_t port = listener->acceptor.local_endpoint().port();
  asio::post(listener->acceptor.get_executor(), [this, own = listener.get()] { Accept(*own); });
  const std::lock_guard lock(mutex_);
  listeners_.push_back(std::move(listener));
  return port;
}

void RequestServer::Accept(Listener& listener) {
  listener.acceptor.async_accept(
      asio::any_io_executor(io_.get_executor()), listener.accepted,
      [this, &listener](error_code error, tcp::socket socket) {
        if (error == asio::error::operation_aborted || !listener.acceptor.is_open()) {
          return;
        }
        if (!error) {
          const asio::ip::address peer = listener.accepted.address();
          if (options_.proxies.Has(peer) && MayAwait(listener)) {
            greetings_.Await(
                std::move(socket), peer,
                [this, &listener](tcp::socket greeted, const asio::ip::address& client) {
                  Admit(std::move(greeted), client, listener);
                });
          } else {
            Admit(std::move(socket), peer, listener);
          }
          Accept(listener);
          return;
        }
        proto::LogWarning("cannot accept a connection: {}", error.message());
        listener.accept_again.expires_after(kAcceptPause);
        listener.accept_again.async_wait([this, &listener](error_code cancelled) {
          if (!cancelled && listener.acceptor.is_open()) {
            Accept(listener);
          }
        });
      });
}

bool RequestServer::IsFull() const {
  const std::size_t accepted = connections_.size() + opening_ + greetings_.awaited();
  return accepted - refused_ - probes_.size() >= options_.max_connections;
}

bool RequestServer::MayAwait(const Listener& listener) const {
  const std::lock_guard lock(mutex_);
  return !IsFull() || (listener.is_for_probes && greetings_.awaited() < kMaxProbes);
}

std::optional<proto::Error> RequestServer::Refusal(const asio::ip::address& client,
                                                   bool is_proxy) const {
  const auto error = [](const std::string& from, std::size_t limit) {
    return proto::Error{
        503, "too_many_connections",
        "Too many connections" + from + ": more than " + std::to_string(limit) + ".", ""};
  };
  if (IsFull()) {
    return error("", options_.max_connections);
  }
  if (is_proxy) {
    return std::nullopt;
  }
  const std::size_t limit = options_.max_connections_per_address.value_or(
      std::max(options_.max_connections / 2, std::size_t{1}));
  const auto found = addresses_.find(client);
  if (found != addresses_.end() && found->second >= limit) {
    return error(" from " + client.to_string(), limit);
  }
  return std::nullopt;
}

void RequestServer::Admit(tcp::socket socket, const asio::ip::address& peer,
                          const Listener& listener) {
  const asio::ip::address client = CountedAddress(peer);
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  Admitted admitted{.address = client, .listener = &listener};
  if (options_.proxies.Has(peer)) {
    admitted.proxy = peer;
  }
  {
    const std::lock_guard lock(mutex_);
    if (!listener.is_accepting) {
      return;  // CloseConnections may already have closed the others.
    }
    if (listener.is_for_probes) {
      if (HasTooManyProbes(client)) {
        return;  // The socket is closed without a reply.
      }
      admitted.purpose = Purpose::kProbe;
      probes_.insert(client);
    } else {
      admitted.refusal = Refusal(client, admitted.proxy.has_value());
      if (admitted.refusal && refused_ == kMaxRefused) {
        context_.count_refusal({.address = client.to_string()}, /*holder=*/nullptr,
                               *admitted.refusal);
        return;  // The same.
      }
      if (admitted.refusal) {
        admitted.purpose = Purpose::kRefusal;
        ++refused_;
      } else {
        ++addresses_[client];
      }
    }
    admitted.id = next_id_++;
    ++opening_;
  }
  const ClientId id = ClientOf(client, /*certificate=*/"", admitted.id);
  tcp::socket own = Moved(std::move(socket), ExecutorFor(id, listener));
  if (listener.options.tls == nullptr) {
    Open(admitted, id, std::make_unique<TcpStream>(std::move(own)));
    return;
  }
  handshakes_.Add(std::move(own), id, client, listener.options.protocols, *listener.options.tls,
                  [this, admitted](TlsHandshake::Outcome outcome) {
                    OnHandshake(admitted, std::move(outcome));
                  });
}

asio::any_io_executor RequestServer::ExecutorFor(const ClientId& client, const Listener& listener) {
  if (listener.is_for_probes) {
    return turns_.ForProbe(client);
  }
  return turns_.ForClient(client);
}

void RequestServer::OnHandshake(Admitted admitted, TlsHandshake::Outcome outcome) {
  if (outcome.session) {
    const ClientId client = ClientOf(admitted.address, outcome.session->peer_name(), admitted.id);
    tcp::socket socket = Moved(std::move(outcome.socket), ExecutorFor(client, *admitted.listener));
    Open(admitted, client,
         std::make_unique<TlsStream>(std::move(socket), *std::move(outcome.session)));
    return;
  }
  const ClientId client = ClientOf(admitted.address, /*certificate=*/"", admitted.id);
  if (outcome.is_plain) {
    admitted.refusal = proto::Error{400, "tls_required",
                                    "This port speaks TLS only: use https://, or --tls with the "
                                    "commands of scorecast.",
                                    ""};
    Open(admitted, client, std::make_unique<TcpStream>(std::move(outcome.socket)));
    return;
  }
  if (!outcome.fault.empty()) {
    const proto::Error fault{400, "tls_handshake_failed", outcome.fault, ""};
    context_.count_refusal(client, /*holder=*/nullptr, fault);
    proto::LogDebug("TLS with {}: {}", admitted.address.to_string(), outcome.fault);
  }
  Forget(admitted);
}

void RequestServer::Open(const Admitted& admitted, const ClientId& client,
                         std::unique_ptr<ByteStream> stream) {
  const Listener& listener = *admitted.listener;
  std::shared_ptr<Connection> connection;
  {
    const std::lock_guard lock(mutex_);
    if (!is_closing_) {
      connection = std::make_shared<Connection>(
          client, std::move(stream), listener.make_protocol(protocol_context_),
          listener.is_for_probes ? probe_context_ : context_, address_book_.Of(client.address),
          [this, admitted](std::uint64_t) { Forget(admitted); });
      if (admitted.proxy) {
        connection->SetProxy(*admitted.proxy);
      }
      connections_.emplace(admitted.id, connection);
      --opening_;
    }
  }
  if (connection == nullptr) {
    Forget(admitted);
  } else if (admitted.refusal) {
    connection->Refuse(*admitted.refusal);
  } else {
    connection->Start();
  }
}

bool RequestServer::HasTooManyProbes(const asio::ip::address& client) const {
  return probes_.size() == kMaxProbes || probes_.count(client) == kMaxProbesOfAddress;
}

void RequestServer::Forget(const Admitted& admitted) {
  const std::lock_guard lock(mutex_);
  if (connections_.erase(admitted.id) == 0) {
    --opening_;
  }
  if (admitted.purpose == Purpose::kRefusal) {
    --refused_;
  } else if (admitted.purpose == Purpose::kProbe) {
    probes_.erase(probes_.find(admitted.address));
  } else if (const auto own = addresses_.find(admitted.address); --own->second == 0) {
    addresses_.erase(own);
  }
  closed_.notify_all();
}

void RequestServer::StartDraining() {
  handler_->StartDraining();
  StopAccepting(/*for_drain=*/true);
}

void RequestServer::StopAccepting(bool for_drain) {
  if (!for_drain) {
    greetings_.Stop();
  }
  const std::lock_guard lock(mutex_);
  for (const auto& listener : listeners_) {
    if (for_drain && listener->options.accepts_while_draining) {
      continue;
    }
    listener->is_accepting = false;
    asio::post(listener->acceptor.get_executor(), [own = listener.get()] {
      error_code ignored;
      own->acceptor.close(ignored);
      own->accept_again.cancel();
    });
  }
}

void RequestServer::CloseConnections(std::chrono::milliseconds patience) {
  StopAccepting(/*for_drain=*/false);
  {
    const std::lock_guard lock(mutex_);
    is_closing_ = true;
  }
  handshakes_.CancelAll();
  for (const auto& connection : Connections()) {
    connection->CloseWhenDone();
  }
  std::unique_lock lock(mutex_);
  const auto all_closed = [this] { return connections_.empty() && opening_ == 0; };
  if (closed_.wait_for(lock, patience, all_closed)) {
    return;
  }
  lock.unlock();
  for (const auto& connection : Connections()) {
    connection->Close();
  }
  lock.lock();
  closed_.wait(lock, all_closed);
}

std::vector<std::shared_ptr<Connection>> RequestServer::Connections() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Connection>> connections;
  connections.reserve(connections_.size());
  for (const auto& [id, connection] : connections_) {
    connections.push_back(connection);
  }
  return connections;
}

ClientsStatus RequestServer::status() const {
  ClientsStatus status;
  status.requests_in_flight = context_.counters.requests_in_flight;
  status.held_request_bytes = requests_.bytes();
  status.held_reply_bytes = handler_->replies().bytes();
  status.refusals = context_.counters.refusals();
  const std::lock_guard lock(mutex_);
  status.connections = connections_.size() + opening_ - probes_.size();
  status.addresses = addresses_.size();
  return status;
}

}  // namespace scorecast::coordinator

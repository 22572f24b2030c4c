#include "coordinator/front/replica_connector.h"

#include <charconv>
#include <cstdint>
#include <system_error>
#include <utility>

#include <boost/asio/connect.hpp>
#include <boost/asio/post.hpp>

#include "coordinator/transports/connection/tcp_stream.h"
#include "coordinator/transports/connection/tls_stream.h"
#include "proto/base/host_port.h"
#include "proto/wire/frame.h"

namespace scorecast::coordinator {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

ReplicaConnector::ReplicaConnector(const asio::any_io_executor& executor,
                                   std::optional<proto::ClientTls> tls)
    : resolver_(executor), socket_(executor), timer_(executor), tls_(std::move(tls)) {}

void ReplicaConnector::Start(const std::string& address, std::chrono::milliseconds timeout,
                             Done done) {
  done_ = std::move(done);
  const auto target = proto::ParseHostPort(address);
  if (!target) {
    asio::post(timer_.get_executor(),
               [self = shared_from_this()] { self->Fail("the address is not HOST:PORT"); });
    return;
  }
  host_ = target->host;
  timer_.expires_after(timeout);
  timer_.async_wait([self = shared_from_this()](const error_code& error) {
    if (!error) {
      self->Fail("it did not answer in time");
    }
  });
  // The resolver has one thread for all look-ups, and one that takes long would keep numeric
  // addresses waiting.
  error_code no_number;
  const auto number = asio::ip::make_address(target->host, no_number);
  std::uint16_t port = 0;
  const std::string& digits = target->port;
  const auto [rest, no_port] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (!no_number && no_port == std::errc() && rest == digits.data() + digits.size()) {
    const tcp::endpoint endpoint(number, port);
    Connect(tcp::resolver::results_type::create(endpoint, target->host, target->port));
    return;
  }
  resolver_.async_resolve(target->host, target->port,
                          [self = shared_from_this()](const error_code& error,
                                                      const tcp::resolver::results_type& found) {
                            if (error) {
                              self->Fail(error.message());
                            } else if (self->done_) {
                              self->Connect(found);
                            }
                          });
}

void ReplicaConnector::Connect(const tcp::resolver::results_type& found) {
  asio::async_connect(socket_, found,
                      [self = shared_from_this()](const error_code& fault, const tcp::endpoint&) {
                        if (fault) {
                          self->Fail(fault.message());
                        } else if (self->done_) {
                          self->OnConnected();
                        }
                      });
}

void ReplicaConnector::OnConnected() {
  error_code ignored;
  socket_.set_option(tcp::no_delay(true), ignored);
  if (!tls_) {
    if (const Done done = End()) {
      done(std::make_unique<TcpStream>(std::move(socket_)), "");
    }
    return;
  }
  socket_.non_blocking(true, ignored);
  const std::string& name = tls_->server_name.empty() ? host_ : tls_->server_name;
  session_ = proto::TlsSession::OfClient(tls_->context, socket_.native_handle(), name,
                                         {std::string(proto::kTlsProtocol)});
  Shake();
}

void ReplicaConnector::Shake() {
  using State = proto::TlsSession::State;
  const State state = session_->Handshake();
  if (state == State::kDone) {
    if (const Done done = End()) {
      done(std::make_unique<TlsStream>(std::move(socket_), *std::move(session_)), "");
    }
  } else if (state == State::kNeedsRead || state == State::kNeedsWrite) {
    socket_.async_wait(
        state == State::kNeedsRead ? tcp::socket::wait_read : tcp::socket::wait_write,
        [self = shared_from_this()](const error_code& error) {
          if (error) {
            self->Fail(error.message());
          } else if (self->done_) {
            self->Shake();
          }
        });
  } else {
    Fail("no TLS: " + (state == State::kEnded ? "it closed the connection" : session_->fault()));
  }
}

void ReplicaConnector::Fail(const std::string& fault) {
  if (const Done done = End()) {
    error_code ignored;
    socket_.close(ignored);
    done(nullptr, fault);
  }
}

void ReplicaConnector::Cancel() {
  if (End()) {
    error_code ignored;
    socket_.close(ignored);
  }
}

ReplicaConnector::Done ReplicaConnector::End() {
  timer_.cancel();
  resolver_.cancel();
  return std::exchange(done_, nullptr);
}

}  // namespace scorecast::coordinator

#include "coordinator/transports/connection/tls_handshake.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <utility>

#include <boost/asio/post.hpp>
#include <sys/socket.h>

namespace scorecast::coordinator {

namespace asio = boost::asio;
using boost::system::error_code;
using State = proto::TlsSession::State;

namespace {

/// The first byte of every TLS connection: a record of the handshake.
constexpr unsigned char kHandshakeRecord = 0x16;

constexpr auto kAlertTime = std::chrono::seconds(1);

}  // namespace

TlsHandshake::TlsHandshake(Socket socket, ClientId client, std::vector<std::string> protocols,
                           FairPool& pool, Done done)
    : socket_(std::move(socket)),
      client_(std::move(client)),
      protocols_(std::move(protocols)),
      pool_(pool),
      done_(std::move(done)),
      timer_(socket_.get_executor()) {}

void TlsHandshake::Start(proto::TlsContext context, std::chrono::milliseconds timeout) {
  asio::post(timer_.get_executor(),
             [self = shared_from_this(), context = std::move(context), timeout] {
               if (!self->done_) {
                 return;
               }
               self->context_ = context;
               self->timer_.expires_after(timeout);
               self->timer_.async_wait([self](const error_code& error) {
                 if (!error) {
                   self->Fail("the handshake did not end in time");
                 }
               });
               self->WaitFor(Socket::wait_read);
             });
}

void TlsHandshake::Cancel(std::string fault) {
  asio::post(timer_.get_executor(),
             [self = shared_from_this(), fault = std::move(fault)] { self->Fail(fault); });
}

void TlsHandshake::WaitFor(Socket::wait_type what) {
  socket_.async_wait(what, [self = shared_from_this()](const error_code& error) {
    if (!self->done_) {
      return;
    }
    if (error) {
      self->Fail(error.message());
    } else if (self->has_alerted_) {
      self->Discard();
    } else if (!self->session_) {
      self->Begin();
    } else {
      self->Compute();
    }
  });
}

void TlsHandshake::Begin() {
  unsigned char first = 0;
  const ssize_t bytes =
      recv(socket_.native_handle(), &first, sizeof(first), MSG_PEEK | MSG_DONTWAIT);
  if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) {
    WaitFor(Socket::wait_read);
  } else if (bytes <= 0) {
    Fail("");
  } else if (first != kHandshakeRecord) {
    End({.socket = std::move(socket_), .session = std::nullopt, .is_plain = true, .fault = ""});
  } else {
    Compute();
  }
}

void TlsHandshake::Compute() {
  is_computing_ = true;
  pool_.Post(client_, [self = shared_from_this()] {
    if (!self->session_) {
      self->session_ = proto::TlsSession::OfServer(*self->context_, self->socket_.native_handle(),
                                                   self->protocols_);
    }
    const State state = self->session_->Handshake();
    asio::post(self->timer_.get_executor(), [self, state] { self->OnComputed(state); });
  });
}

void TlsHandshake::OnComputed(State state) {
  is_computing_ = false;
  if (fault_) {
    Fail(*std::move(fault_));
    return;
  }
  switch (state) {
    case State::kNeedsRead:
      WaitFor(Socket::wait_read);
      return;
    case State::kNeedsWrite:
      WaitFor(Socket::wait_write);
      return;
    case State::kEnded:
      Fail("");
      return;
    case State::kLost:
      Fail(session_->fault());
      return;
    case State::kFailed:
      FailAfterAlert(session_->fault());
      return;
    case State::kDone:
      End({.socket = std::move(socket_),
           .session = std::exchange(session_, std::nullopt),
           .is_plain = false,
           .fault = ""});
      return;
  }
}

void TlsHandshake::FailAfterAlert(const std::string& fault) {
  error_code ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
  has_alerted_ = true;
  timer_.expires_after(kAlertTime);
  timer_.async_wait([self = shared_from_this(), fault](const error_code& error) {
    if (!error) {
      self->Fail(fault);
    }
  });
  fault_ = fault;
  WaitFor(Socket::wait_read);
}

void TlsHandshake::Discard() {
  std::array<char, std::size_t{16} << 10> dropped{};
  const ssize_t bytes = recv(socket_.native_handle(), dropped.data(), dropped.size(), MSG_DONTWAIT);
  if (bytes > 0 || (bytes < 0 && (errno == EAGAIN || errno == EINTR))) {
    WaitFor(Socket::wait_read);
  } else {
    Fail(*fault_);
  }
}

void TlsHandshake::Fail(std::string fault) {
  if (!done_) {
    return;
  }
  if (is_computing_) {
    fault_ = std::move(fault);  // The pool uses the socket.
    return;
  }
  error_code ignored;
  socket_.cancel(ignored);
  End({.socket = std::move(socket_),
       .session = std::nullopt,
       .is_plain = false,
       .fault = std::move(fault)});
}

void TlsHandshake::End(Outcome outcome) {
  timer_.cancel();
  const Done done = std::exchange(done_, nullptr);
  done(std::move(outcome));
}

}  // namespace scorecast::coordinator

#include "launcher/client/client.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include <boost/asio/connect.hpp>
#include <poll.h>
#include <sys/socket.h>

#include "proto/wire/frame.h"

namespace scorecast::launcher {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using proto::TlsSession;

/// HOST and PORT of "HOST:PORT".
proto::HostPort TargetOf(const std::string& address) {
  auto target = proto::ParseHostPort(address);
  if (!target) {
    throw std::runtime_error("\"" + address + "\" is not HOST:PORT");
  }
  return *std::move(target);
}

/// The memory for a reply grows by this factor as its bytes arrive, whatever length the reply
/// announces.
constexpr std::size_t kGrowth = 2;
constexpr std::size_t kFirstBytes = std::size_t{64} << 10;

ConnectionLost Closed(const std::string& reason) {
  return ConnectionLost("the server closed the connection: " + reason);
}

ConnectionLost Closed(const error_code& error) { return Closed(error.message()); }

/// What OpenSSL says, with what a user can do about it.
class TlsFault : public std::runtime_error {
 public:
  explicit TlsFault(const std::string& reason) : std::runtime_error(reason + Advice(reason)) {}

 private:
  static std::string Advice(const std::string& reason) {
    const auto has = [&](const char* part) { return reason.find(part) != std::string::npos; };
    if (has("wrong version number") || has("packet length too long")) {
      return "; the server seems to speak no TLS: leave out --tls";
    }
    if (has("alert certificate required") || has("alert handshake failure")) {
      return "; the server may want a certificate: --tls-client-cert, --tls-client-key";
    }
    if (has("issuer certificate") || has("self-signed") || has("self signed")) {
      return "; --tls-ca names the certificate of its CA";
    }
    if (has("certificate has expired")) {
      return "; it is one of the server's chain, and the server takes new ones without a restart";
    }
    if (has("ostname mismatch") || has("IP address mismatch")) {
      return "; --tls-server-name names the one that its certificate has";
    }
    return "";
  }
};

error_code LastError() { return {errno, boost::system::system_category()}; }

}  // namespace

Client::Client(const std::string& address, const ClientOptions& options)
    : options_(options), socket_(io_) {
  const proto::HostPort target = TargetOf(address);
  Connect(address, target);
  socket_.set_option(tcp::no_delay(true));
  if (options_.tls) {
    BeginTls(address, target.host);
  }
  if (!options_.api_key.empty()) {
    Authenticate();
  }
}

void Client::Authenticate() {
  v1::Request request;
  request.mutable_authenticate()->set_api_key(options_.api_key);
  const v1::Response response = Call(request);
  if (response.has_error()) {
    const v1::Error& error = response.error();
    throw std::runtime_error(std::to_string(error.code()) + " " + error.reason() + ": " +
                             error.message());
  }
}

Client::Deadline Client::CallDeadline() const {
  Deadline deadline = options_.deadline;
  if (options_.timeout) {
    const auto end = std::chrono::steady_clock::now() + *options_.timeout;
    deadline = deadline ? std::min(*deadline, end) : end;
  }
  return deadline;
}

void Client::Connect(const std::string& address, const proto::HostPort& target) {
  const Deadline deadline = CallDeadline();
  error_code error;
  tcp::resolver resolver(io_);
  const auto endpoints = resolver.resolve(target.host, target.port, error);
  if (error) {
    throw std::runtime_error("cannot connect to " + address + ": " + error.message());
  }
  bool is_done = false;
  asio::async_connect(socket_, endpoints, [&](const error_code& result, const tcp::endpoint&) {
    is_done = true;
    error = result;
  });
  if (deadline) {
    io_.run_until(*deadline);
  } else {
    io_.run();
  }
  if (!is_done) {
    socket_.close(error);
    io_.run();  // Needed because the handler refers to variables of this function.
    throw TimedOut("cannot connect to " + address + " in time");
  }
  if (error) {
    throw ConnectionLost("cannot connect to " + address + ": " + error.message());
  }
}

template <typename Attempt>
TlsSession::Result Client::Repeat(Attempt attempt, const Deadline& deadline) {
  for (;;) {
    TlsSession::Result result;
    std::string fault;
    {
      const std::lock_guard lock(session_mutex_);
      result = attempt();
      fault = session_->fault();
    }
    switch (result.state) {
      case TlsSession::State::kDone:
        return result;
      case TlsSession::State::kNeedsRead:
        Await(POLLIN, deadline);
        break;
      case TlsSession::State::kNeedsWrite:
        Await(POLLOUT, deadline);
        break;
      case TlsSession::State::kEnded:
        throw Closed(asio::error::eof);
      case TlsSession::State::kLost:
        throw Closed(fault);
      case TlsSession::State::kFailed:
        throw TlsFault(fault);
    }
  }
}

void Client::BeginTls(const std::string& address, const std::string& host) {
  const proto::ClientTls& tls = *options_.tls;
  session_ = TlsSession::OfClient(tls.context, socket_.native_handle(),
                                  tls.server_name.empty() ? host : tls.server_name,
                                  {std::string(proto::kTlsProtocol)});
  try {
    Repeat([this] { return TlsSession::Result{session_->Handshake()}; }, CallDeadline());
  } catch (const TlsFault& fault) {
    throw std::runtime_error("no TLS with " + address + ": " + fault.what());
  }
}

void Client::Await(short events, const Deadline& deadline) {
  pollfd descriptor = {.fd = socket_.native_handle(), .events = events, .revents = 0};
  int ready = 0;
  do {
    int wait = -1;
    if (deadline) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(
          *deadline - std::chrono::steady_clock::now());
      wait = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1'000'000'000));
    }
    ready = poll(&descriptor, 1, wait);
  } while (ready < 0 && errno == EINTR);
  if (ready < 0) {
    throw Closed(LastError());
  }
  if (ready == 0) {
    throw TimedOut("the server did not reply in time");
  }
}

void Client::Write(std::span<const char> bytes, const Deadline& deadline) {
  while (session_ && !bytes.empty()) {
    const auto result = Repeat([&] { return session_->Write(bytes); }, deadline);
    bytes = bytes.subspan(result.bytes);
  }
  while (!bytes.empty()) {
    Await(POLLOUT, deadline);
    const ssize_t sent =
        ::send(socket_.native_handle(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    } else if (errno != EAGAIN && errno != EINTR) {
      throw Closed(LastError());
    }
  }
}

void Client::Read(std::span<char> bytes, const Deadline& deadline) {
  while (session_ && !bytes.empty()) {
    const auto result = Repeat([&] { return session_->Read(bytes); }, deadline);
    bytes = bytes.subspan(result.bytes);
  }
  while (!bytes.empty()) {
    Await(POLLIN, deadline);
    const ssize_t received =
        ::recv(socket_.native_handle(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (received > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(received));
    } else if (received == 0) {
      throw Closed(asio::error::eof);
    } else if (errno != EAGAIN && errno != EINTR) {
      throw Closed(LastError());
    }
  }
}

void Client::Send(const v1::Request& request) { Write(proto::ToFrame(request), CallDeadline()); }

v1::Response Client::Receive() {
  const Deadline deadline = CallDeadline();
  proto::FrameHeader header{};
  Read({reinterpret_cast<char*>(header.data()), header.size()}, deadline);
  const std::size_t length = proto::FrameLength(header);
  if (std::string_view(reinterpret_cast<const char*>(header.data()), header.size()) == "HTTP") {
    throw std::runtime_error(
        "this is a port of HTTP: give the address of the request socket, which is the service's "
        "--port");
  }
  if (length > options_.max_reply_bytes) {
    throw std::runtime_error("the server's reply is too large: " + std::to_string(length) + " > " +
                             std::to_string(options_.max_reply_bytes) + " bytes");
  }
  std::string message;
  while (message.size() < length) {
    const std::size_t have = message.size();
    message.resize(std::min(length, std::max(kFirstBytes, kGrowth * have)));
    Read(std::span(message).subspan(have), deadline);
  }
  v1::Response response;
  if (!response.ParseFromString(message)) {
    throw std::runtime_error("the server's reply is not a scorecast.v1.Response");
  }
  return response;
}

v1::Response Client::Call(const v1::Request& request) {
  Send(request);
  return Receive();
}

}  // namespace scorecast::launcher

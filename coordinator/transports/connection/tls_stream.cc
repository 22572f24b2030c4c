#include "coordinator/transports/connection/tls_stream.h"

#include <algorithm>
#include <span>
#include <utility>

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

namespace scorecast::coordinator {

namespace asio = boost::asio;
using State = proto::TlsSession::State;

TlsStream::TlsStream(Socket socket, proto::TlsSession session)
    : TcpStream(std::move(socket)), session_(std::move(session)) {}

bool TlsStream::HasUnread() { return session_.has_unread() || TcpStream::HasUnread(); }

void TlsStream::ShutDownSend() {
  if (socket().is_open()) {
    session_.ShutDown();
  }
  TcpStream::ShutDownSend();
}

template <typename Attempt>
void TlsStream::Try(Attempt attempt, Done done, bool is_inside_call) {
  error_code error;
  // Not after Close: another connection may have the descriptor.
  const proto::TlsSession::Result result =
      socket().is_open() ? attempt() : proto::TlsSession::Result{State::kFailed};
  switch (result.state) {
    case State::kNeedsRead:
    case State::kNeedsWrite:
      socket().async_wait(
          result.state == State::kNeedsRead ? Socket::wait_read : Socket::wait_write,
          [this, attempt, done = std::move(done)](const error_code& fault) mutable {
            if (fault) {
              done(fault, 0);
            } else {
              Try(attempt, std::move(done), /*is_inside_call=*/false);
            }
          });
      return;
    case State::kDone:
      break;
    case State::kEnded:
      error = asio::error::eof;
      break;
    case State::kLost:
    case State::kFailed:
      error = asio::error::connection_reset;
      break;
  }
  if (is_inside_call) {
    asio::post(get_executor(),
               [done = std::move(done), error, bytes = result.bytes] { done(error, bytes); });
  } else {
    done(error, result.bytes);
  }
}

void TlsStream::ReadSome(asio::mutable_buffer into, Done done) {
  const std::span<char> bytes(static_cast<char*>(into.data()), into.size());
  Try([this, bytes] { return session_.Read(bytes); }, std::move(done), /*is_inside_call=*/true);
}

void TlsStream::WriteSome(asio::const_buffer from, Done done) {
  Try([this, from] { return Write(from); }, std::move(done), /*is_inside_call=*/true);
}

proto::TlsSession::Result TlsStream::Write(asio::const_buffer from) {
  const std::span<const char> all(static_cast<const char*>(from.data()),
                                  std::min(from.size(), kMaxWriteBytes));
  std::size_t written = 0;
  while (written < all.size()) {
    const proto::TlsSession::Result result = session_.Write(all.subspan(written));
    if (result.state != State::kDone) {
      // The next write finds the same fault, or goes on with the record that waits.
      return written > 0 ? proto::TlsSession::Result{State::kDone, written} : result;
    }
    written += result.bytes;
  }
  return {State::kDone, written};
}

}  // namespace scorecast::coordinator

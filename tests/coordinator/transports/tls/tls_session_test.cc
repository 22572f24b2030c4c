// A session whose peer sends many records without a byte of the application.

#include "proto/tls/tls_session.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/coordinator/transports/tls/certificates.h"
#include "tests/reference/temp_directory.h"

namespace scorecast::proto {
namespace tls_session_test {

using scorecast::testing::Authority;

/// A client in memory, and a session of a server at the other end of a pair of sockets.
class TlsSessionTest : public ::testing::Test {
 protected:
  TlsSessionTest() {
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets_), 0);
    SSL_set_bio(client_.get(), received_, sent_);
    SSL_set_connect_state(client_.get());
    session_ = std::make_unique<TlsSession>(
        TlsSession::OfServer(TlsContext::OfServer(ca_.Issue("server")), sockets_[0], {}));
    for (int turn = 0; SSL_do_handshake(client_.get()) != 1 && turn < 100; ++turn) {
      Exchange();
      session_->Handshake();
      Exchange();
    }
    Exchange();
    EXPECT_EQ(session_->Handshake(), TlsSession::State::kDone);
  }
  ~TlsSessionTest() override {
    close(sockets_[0]);
    close(sockets_[1]);
  }

  /// Sends what the client has written, and gives it what the session has.
  void Exchange() {
    char* bytes = nullptr;
    const long count = BIO_get_mem_data(sent_, &bytes);
    EXPECT_EQ(send(sockets_[1], bytes, static_cast<std::size_t>(count), 0), count);
    BIO_reset(sent_);
    char buffer[1 << 14];
    ssize_t size = 0;
    while ((size = recv(sockets_[1], buffer, sizeof(buffer), MSG_DONTWAIT)) > 0) {
      BIO_write(received_, buffer, static_cast<int>(size));
    }
  }

  reference::TempDirectory directory_;
  Authority ca_{directory_.path(), "own"};
  const TlsContext context_ = TlsContext::OfClient({.ca = ca_.certificate()});
  std::unique_ptr<SSL, void (*)(SSL*)> client_{SSL_new(context_.get()), SSL_free};
  BIO* const received_ = BIO_new(BIO_s_mem());
  BIO* const sent_ = BIO_new(BIO_s_mem());
  int sockets_[2] = {-1, -1};
  std::unique_ptr<TlsSession> session_;
};

TEST_F(TlsSessionTest, UpdatesOfKeysTakeManyCalls) {
  constexpr int kUpdates = 1000;
  constexpr int kMostOfCall = 20;
  for (int i = 0; i < kUpdates; ++i) {
    ASSERT_EQ(SSL_key_update(client_.get(), SSL_KEY_UPDATE_NOT_REQUESTED), 1);
    ASSERT_EQ(SSL_do_handshake(client_.get()), 1);
  }
  const std::string text = "text";
  ASSERT_EQ(SSL_write(client_.get(), text.data(), static_cast<int>(text.size())), 4);
  Exchange();
  char into[100];
  int calls = 1;
  TlsSession::Result result = session_->Read(into);
  while (result.state == TlsSession::State::kNeedsRead && calls < kUpdates) {
    ++calls;
    result = session_->Read(into);
  }
  EXPECT_EQ(result.state, TlsSession::State::kDone);
  EXPECT_EQ(std::string(into, result.bytes), text);
  EXPECT_GT(calls, kUpdates / kMostOfCall);
}

TEST_F(TlsSessionTest, ALongRecordTakesOneCall) {
  const std::string text(16'000, 'x');
  ASSERT_EQ(SSL_write(client_.get(), text.data(), static_cast<int>(text.size())), 16'000);
  Exchange();
  std::string into(text.size(), ' ');
  const TlsSession::Result result = session_->Read(into);
  EXPECT_EQ(result.state, TlsSession::State::kDone);
  EXPECT_EQ(into.substr(0, result.bytes), text);
}

}  // namespace tls_session_test
}  // namespace scorecast::proto

// Handshakes that do not end, beside clients that are polite.

#include "coordinator/transports/connection/tls_handshakes.h"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/coordinator/transports/http/fake_http_server.h"
#include "tests/coordinator/transports/tls/tls_client.h"
#include "tests/reference/temp_directory.h"

namespace scorecast::coordinator {
namespace tls_handshakes_test {

using scorecast::testing::Authority;

/// The first message of a client that then sends no more.
std::string ClientHello(const std::string& ca) {
  const proto::TlsContext context = proto::TlsContext::OfClient({.ca = ca});
  SSL* const session = SSL_new(context.get());
  BIO* const sent = BIO_new(BIO_s_mem());
  SSL_set_bio(session, BIO_new(BIO_s_mem()), sent);
  SSL_set_connect_state(session);
  SSL_do_handshake(session);
  char* bytes = nullptr;
  const long count = BIO_get_mem_data(sent, &bytes);
  std::string hello(bytes, static_cast<std::size_t>(count));
  SSL_free(session);
  return hello;
}

class TlsHandshakesTest : public ::testing::Test {
 protected:
  reference::TempDirectory directory_;
  Authority ca_{directory_.path(), "own"};
  const std::string hello_ = ClientHello(ca_.certificate());
  const proto::TlsServerFiles files_ = ca_.Issue("server");
};

TEST_F(TlsHandshakesTest, AHandshakeHasADeadline) {
  FakeSocketServer server({.handshake_timeout = std::chrono::milliseconds(50)});
  const TlsPorts ports(server, std::make_shared<TlsFiles>(files_));
  TlsClient slow(ports.http, {.ca = ca_.certificate()});
  HttpClient silent(ports.http);
  EXPECT_TRUE(silent.IsClosed());
  HttpClient half(ports.frames);
  half.Send(hello_.substr(0, 20));
  EXPECT_TRUE(half.IsClosed());
  HttpClient begun(ports.http);
  begun.Send(hello_);
  EXPECT_GT(begun.ReceiveAll().size(), 100U) << "the server's part of the handshake";
  EXPECT_EQ(slow.Call(ScorePost(1)).first, 200) << "the deadline is that of the handshake only";
}

TEST_F(TlsHandshakesTest, OneThatComesBehindTheEndEndsAtOnce) {
  const TlsFiles files(files_);
  boost::asio::io_context io;
  TlsHandshakes handshakes(/*threads=*/1, std::chrono::hours(1));
  handshakes.CancelAll();
  int ended = 0;
  handshakes.Add(TlsHandshake::Socket(io, boost::asio::ip::tcp::v4()), {},
                 boost::asio::ip::make_address("127.0.0.1"), {}, files,
                 [&](TlsHandshake::Outcome outcome) { ended += outcome.session ? 0 : 1; });
  io.run();
  EXPECT_EQ(ended, 1);
}

TEST_F(TlsHandshakesTest, HalfOpenOnesDelayNoOtherAddress) {
  FakeSocketServer server;
  const TlsPorts ports(server, std::make_shared<TlsFiles>(files_));
  constexpr std::size_t kOfAddress = TlsHandshakes::kMaxOfAddress + 50;
  std::vector<std::unique_ptr<HttpClient>> half_open;
  for (std::size_t i = 0; i < kOfAddress; ++i) {
    for (const char* const address : {"127.0.0.2", "127.0.0.3"}) {
      half_open.push_back(std::make_unique<HttpClient>(ports.http, address));
      half_open.back()->Send(hello_);
    }
  }
  ASSERT_TRUE(Eventually([&] { return server.server().status().connections == half_open.size(); }));
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t number = 0; number < 5; ++number) {
    TlsClient polite(ports.http, {.ca = ca_.certificate()});
    EXPECT_EQ(polite.Call(ScorePost(number)).first, 200);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5))
      << "half of the time of one handshake that does not end";
}

TEST_F(TlsHandshakesTest, ThoseOfAnAddressBeyondItsLimitWait) {
  FakeSocketServer server({.handshake_timeout = std::chrono::seconds(60)});
  const TlsPorts ports(server, std::make_shared<TlsFiles>(files_));
  std::vector<std::unique_ptr<HttpClient>> half_open;
  for (std::size_t i = 0; i < TlsHandshakes::kMaxOfAddress; ++i) {
    half_open.push_back(std::make_unique<HttpClient>(ports.http));
    half_open.back()->Send(hello_);
  }
  ASSERT_TRUE(Eventually([&] { return server.server().status().connections == half_open.size(); }));
  std::atomic<bool> is_done = false;
  std::thread waiting([&] {
    TlsClient next(ports.http, {.ca = ca_.certificate()});
    EXPECT_EQ(next.Call(ScorePost(1)).first, 200);
    is_done = true;
  });
  ASSERT_TRUE(
      Eventually([&] { return server.server().status().connections == half_open.size() + 1; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(is_done);
  half_open.pop_back();
  waiting.join();
  EXPECT_TRUE(is_done);
}

}  // namespace tls_handshakes_test
}  // namespace scorecast::coordinator

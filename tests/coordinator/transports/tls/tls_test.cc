// Servers over TLS, as clients with good and bad intentions see them.

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/coordinator/transports/http/fake_http_server.h"
#include "tests/coordinator/transports/tls/tls_client.h"
#include "tests/reference/temp_directory.h"

namespace scorecast::coordinator {
namespace tls_test {

using scorecast::testing::Authority;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// A server whose certificate is of `ca`.
class TlsTest : public ::testing::Test {
 protected:
  TlsClient::Options Trusting() const { return {.ca = ca_.certificate()}; }
  /// The fault of a connection that must fail.
  std::string FaultOf(const TlsClient::Options& options) const {
    try {
      // TLS 1.3 tells a client that its certificate is refused only behind the handshake.
      TlsClient(ports_.http, options).Call(Get("/"));
    } catch (const boost::system::system_error& fault) {
      return fault.what();
    }
    return "none";
  }

  reference::TempDirectory directory_;
  Authority ca_{directory_.path(), "own"};
  Authority other_{directory_.path(), "other"};
  FakeSocketServer server_;
  TlsPorts ports_{server_, std::make_shared<TlsFiles>(ca_.Issue("server"))};
};

TEST_F(TlsTest, AnswersAsWithoutIt) {
  TlsClient client(ports_.http, Trusting());
  EXPECT_STREQ(client.Version(), "TLSv1.3");
  FakeHttpServer plain;
  for (const std::uint64_t number : {1, 2, 3}) {  // On one connection.
    const auto [status, body] = client.Call(ScorePost(number));
    EXPECT_EQ(status, 200);
    EXPECT_EQ(Stable(nlohmann::json::parse(body)), plain.ScoreOf(ScoreBody(number)));
  }
}

TEST_F(TlsTest, LongRequestsAndRepliesTakeManyRecords) {
  TlsClient client(ports_.http, Trusting());
  const std::string space(300'000, ' ');
  const auto [status, reply] = client.Call(Post("/v1/score", ScoreBody(1).dump() + space));
  EXPECT_EQ(status, 200) << reply.substr(0, 200);
  FakeHttpServer plain;
  EXPECT_EQ(Stable(nlohmann::json::parse(reply)), plain.ScoreOf(ScoreBody(1)));
  EXPECT_EQ(client.Call(Get("/long")), std::pair(200, std::string(TlsPorts::kLongBytes, 'x')));
}

TEST_F(TlsTest, Version12IsSpokenAndOlderOnesAreNot) {
  TlsClient::Options options = Trusting();
  options.adapt = [](SSL_CTX* context) { SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION); };
  TlsClient client(ports_.http, options);
  EXPECT_STREQ(client.Version(), "TLSv1.2");
  EXPECT_EQ(client.Call(ScorePost(1)).first, 200);
  for (const int version : {TLS1_1_VERSION, TLS1_VERSION}) {
    options.adapt = [version](SSL_CTX* context) {
      SSL_CTX_set_security_level(context, 0);
      SSL_CTX_set_min_proto_version(context, version);
      SSL_CTX_set_max_proto_version(context, version);
    };
    EXPECT_THAT(FaultOf(options), HasSubstr("alert protocol version"));
  }
}

TEST_F(TlsTest, CiphersWithoutForwardSecrecyOrAuthenticationAreRefused) {
  for (const char* const cipher : {"AES128-SHA", "AES128-GCM-SHA256", "ECDHE-ECDSA-AES128-SHA"}) {
    TlsClient::Options options = Trusting();
    options.adapt = [cipher](SSL_CTX* context) {
      SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION);
      SSL_CTX_set_cipher_list(context, cipher);
    };
    EXPECT_THAT(FaultOf(options), HasSubstr("handshake failure")) << cipher;
  }
}

TEST_F(TlsTest, AClientDoesNotTrustAnotherCa) {
  EXPECT_THAT(FaultOf({.ca = other_.certificate()}), HasSubstr("certificate verify failed"));
}

TEST_F(TlsTest, AlpnIsHttp11OrNothing) {
  TlsClient::Options options = Trusting();
  EXPECT_EQ(TlsClient(ports_.http, options).Protocol(), "");
  options.adapt = [](SSL_CTX* context) { OfferProtocols(context, "\x02h2\x08http/1.1"); };
  EXPECT_EQ(TlsClient(ports_.http, options).Protocol(), "http/1.1");
  options.adapt = [](SSL_CTX* context) { OfferProtocols(context, "\x02h2"); };
  EXPECT_THAT(FaultOf(options), HasSubstr("no application protocol"));
  EXPECT_TRUE(
      Eventually([&] { return server_.server().status().refusals["tls_handshake_failed"] == 1; }));
}

TEST_F(TlsTest, PlainHttpIsToldToSpeakTls) {
  const HttpReply reply = HttpClient(ports_.http).Call(ScorePost(1));
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(reply.Reason(), "tls_required");
  EXPECT_EQ(reply.Field("Connection"), "close");
}

TEST_F(TlsTest, TlsOnAPlainPortEnds) {
  FakeHttpServer plain;
  EXPECT_THROW(TlsClient(plain.port(), Trusting()), boost::system::system_error);
  EXPECT_EQ(plain.Call(ScorePost(1)).status, 200);
}

TEST_F(TlsTest, ClientsThatLeaveInAHandshakeAreForgotten) {
  {
    HttpClient silent(ports_.http);
    HttpClient half(ports_.http);
    half.Send(std::string("\x16\x03\x01\x01\x00\x01", 6));
    ASSERT_TRUE(Eventually([&] { return server_.server().status().connections == 2; }));
    HttpClient garbage(ports_.http);
    garbage.Send("\x16" + std::string(100, 'x'));
    EXPECT_EQ(garbage.ReceiveAll(), "") << "the end comes, and no reset";
  }
  EXPECT_TRUE(Eventually([&] { return server_.server().status().connections == 0; }));
}

TEST_F(TlsTest, AShutdownEndsHandshakesAndConnections) {
  TlsClient idle(ports_.http, Trusting());
  EXPECT_EQ(idle.Call(ScorePost(1)).first, 200);
  HttpClient half(ports_.http);
  half.Send("\x16");
  ASSERT_TRUE(Eventually([&] { return server_.server().status().connections == 2; }));
  server_.server().StartDraining();
  server_.server().CloseConnections(std::chrono::hours(1));
  EXPECT_EQ(server_.server().status().connections, 0U);
  EXPECT_THROW(idle.Call(ScorePost(1)), boost::system::system_error);
}

}  // namespace tls_test
}  // namespace scorecast::coordinator

// Certificates of clients, and the client library over TLS.

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launcher/client/client.h"
#include "tests/coordinator/transports/ended_clients.h"
#include "tests/coordinator/transports/http/fake_http_server.h"
#include "tests/coordinator/transports/tls/tls_client.h"
#include "tests/reference/temp_directory.h"

namespace scorecast::coordinator {
namespace tls_clients_test {

using launcher::Client;
using proto::ClientTls;
using proto::TlsClientFiles;
using proto::TlsContext;
using scorecast::testing::Authority;
using ::testing::HasSubstr;
using ::testing::Not;

class TlsClientsTest : public ::testing::Test {
 protected:
  proto::TlsServerFiles ForClientsOf(const Authority& authority) {
    proto::TlsServerFiles files = ca_.Issue("server");
    files.client_ca = authority.certificate();
    return files;
  }
  /// A TLS client of the request socket.
  std::unique_ptr<Client> Connect(std::uint16_t port, const TlsClientFiles& files,
                                  const std::string& server_name = {},
                                  const std::string& host = "127.0.0.1") {
    return std::make_unique<Client>(
        host + ":" + std::to_string(port),
        launcher::ClientOptions{.timeout = std::chrono::seconds(30),
                                .tls = ClientTls{TlsContext::OfClient(files), server_name}});
  }
  /// The fault of a request that must fail.
  std::string FaultOf(std::uint16_t port, const TlsClientFiles& files,
                      const std::string& server_name = {}) {
    try {
      Connect(port, files, server_name)->Call(NumberedRequest(1));
    } catch (const std::runtime_error& fault) {
      return fault.what();
    }
    return "none";
  }

  /// The client of the one request that has ended, or is about to, and the code of its reply.
  std::string EndedClient() {
    std::vector<std::string> ended;
    EXPECT_TRUE(Eventually([&] {
      ended = ended_.Take();
      return !ended.empty();
    }));
    return ended.size() == 1 ? ended.front() : std::to_string(ended.size()) + " have ended";
  }

  reference::TempDirectory directory_;
  Authority ca_{directory_.path(), "own"};
  Authority other_{directory_.path(), "other"};
  EndedClients ended_;
  FakeSocketServer server_{{}, {}, &ended_};
  TlsPorts open_{server_, std::make_shared<TlsFiles>(ca_.Issue("open"))};
  TlsPorts closed_{server_, std::make_shared<TlsFiles>(ForClientsOf(ca_))};
};

TEST_F(TlsClientsTest, TheRequestSocketAnswersAsWithoutTls) {
  const auto client = Connect(open_.frames, {.ca = ca_.certificate()});
  for (std::uint64_t number = 0; number < 5; ++number) {
    const v1::Request request = NumberedRequest(number);
    EXPECT_EQ(ScoresOf(client->Call(request).score()),
              ScoresOf(server_.ResponseTo(request).score()));
  }
}

TEST_F(TlsClientsTest, OneThreadSendsWhileAnotherReceives) {
  const auto client = Connect(open_.frames, {.ca = ca_.certificate()});
  constexpr std::uint64_t kRequests = 200;
  std::thread sender([&] {
    for (std::uint64_t number = 0; number < kRequests; ++number) {
      client->Send(NumberedRequest(number));
    }
  });
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < kRequests; ++i) {
    const v1::Response response = client->Receive();
    EXPECT_TRUE(response.has_score());
    sum += response.request_id();
  }
  sender.join();
  EXPECT_EQ(sum, kRequests * (kRequests - 1) / 2);
}

TEST_F(TlsClientsTest, TheClientVerifiesCaAndName) {
  EXPECT_THAT(FaultOf(open_.frames, {.ca = other_.certificate()}), HasSubstr("--tls-ca"));
  EXPECT_THAT(FaultOf(open_.frames, {}), HasSubstr("--tls-ca"));
  EXPECT_THAT(FaultOf(open_.frames, {.ca = ca_.certificate()}, "example.org"),
              HasSubstr("--tls-server-name"));
  EXPECT_EQ(FaultOf(open_.frames, {.ca = ca_.certificate()}, "localhost"), "none");
  Connect(open_.frames, {.ca = ca_.certificate()}, "", "localhost");
}

TEST_F(TlsClientsTest, AnExpiredCertificateOfAServerIsRefused) {
  // A server refuses to start with it, so this one gets it for a client.
  EXPECT_THROW(TlsFiles(ca_.Issue("old", {.days = -1})), proto::StartupError);
  EXPECT_THROW(TlsContext::OfClient(ca_.IssueClient("old-client", {.days = -1})),
               proto::StartupError);
}

TEST_F(TlsClientsTest, ACertificateThatExpiresWhileTheServerRunsIsNamed) {
  const auto files = std::make_shared<TlsFiles>(ca_.Issue("brief", {.days = 0, .seconds = 2}));
  const TlsPorts ports(server_, files);
  std::string fault;
  EXPECT_TRUE(Eventually([&] {
    fault = FaultOf(ports.frames, {.ca = ca_.certificate()});
    return fault != "none";
  }));
  EXPECT_THAT(fault, HasSubstr("certificate has expired; it is one of the server's chain, and the "
                               "server takes new ones without a restart"));
  EXPECT_THAT(fault, Not(HasSubstr("--tls-ca"))) << "another CA would not help";
}

TEST_F(TlsClientsTest, PlainAndTlsDoNotMix) {
  const v1::Response plain =
      Client("127.0.0.1:" + std::to_string(open_.frames)).Call(NumberedRequest(1));
  EXPECT_EQ(plain.error().reason(), "tls_required");
  EXPECT_THAT(FaultOf(server_.port(), {.ca = ca_.certificate()}), HasSubstr("leave out --tls"));
  EXPECT_THAT(FaultOf(open_.http, {.ca = ca_.certificate()}), HasSubstr("no application protocol"));
}

TEST_F(TlsClientsTest, AClientIsItsCertificatesName) {
  const auto client = [&](const std::string& name, const std::string& alternatives) {
    const TlsClientFiles own = ca_.IssueClient("own", {.name = name, .alternatives = alternatives});
    EXPECT_TRUE(Connect(closed_.frames, own)->Call(NumberedRequest(1)).has_score());
    return EndedClient();
  };
  EXPECT_EQ(client("cn-a", "DNS:a.example.org"), "cert:a.example.org 200");
  EXPECT_EQ(client("cn-b", "URI:spiffe://x/b"), "cert:spiffe://x/b 200");
  EXPECT_EQ(client("cn-c", ""), "cert:cn-c 200");
  EXPECT_EQ(client("203.0.113.1", ""), "cert:203.0.113.1 200");
  EXPECT_EQ(client("line\nbreak", ""), "127.0.0.1 200");
  const TlsClientFiles files = ca_.IssueClient("web", {.name = "w", .alternatives = "DNS:web"});
  TlsClient web(closed_.http,
                {.ca = ca_.certificate(), .certificate = files.certificate, .key = files.key});
  EXPECT_EQ(web.Call(ScorePost(1)).first, 200);
  EXPECT_EQ(EndedClient(), "cert:web 200");
}

TEST_F(TlsClientsTest, SessionsWithACertificateAreNotResumed) {
  const TlsClientFiles files = ca_.IssueClient("a", {.name = "a"});
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    TlsClient::Options options{
        .ca = ca_.certificate(), .certificate = files.certificate, .key = files.key};
    options.adapt = [version](SSL_CTX* context) {
      SSL_CTX_set_min_proto_version(context, version);
      SSL_CTX_set_max_proto_version(context, version);
    };
    TlsClient known(closed_.http, options);
    EXPECT_EQ(known.Call(ScorePost(1)).first, 200);
    EXPECT_FALSE(known.IsResumable());
    TlsClient any(open_.http, options);
    EXPECT_EQ(any.Call(ScorePost(1)).first, 200);
    EXPECT_TRUE(any.IsResumable());
  }
}

TEST_F(TlsClientsTest, OtherCertificatesOfClientsAreRefused) {
  EXPECT_THAT(FaultOf(closed_.frames, {.ca = ca_.certificate()}), HasSubstr("--tls-client-cert"));
  TlsClientFiles stranger = other_.IssueClient("stranger", {.name = "stranger"});
  stranger.ca = ca_.certificate();
  EXPECT_THAT(FaultOf(closed_.frames, stranger), HasSubstr("unknown ca"));
  for (const std::string& ended : ended_.Take()) {
    EXPECT_THAT(ended, Not(HasSubstr("stranger")));
  }
}

}  // namespace tls_clients_test
}  // namespace scorecast::coordinator
